package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.metadata.Metadata;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.internal.core.context.InternalDriverContext;
import org.junit.jupiter.api.Test;

/** The handshake, and what the driver then knows of the node. */
interface Connecting extends Subject {
  @Test
  default void theConnectionUsesWhatWasAskedFor() {
    InternalDriverContext context = (InternalDriverContext) session().getContext();
    assertEquals(configuration().protocol(), context.getProtocolVersion().name());
    String algorithm = context.getCompressor().algorithm();
    assertEquals(configuration().compression(), algorithm == null ? "none" : algorithm.toLowerCase());
  }

  @Test
  default void theVersionIsSteppedDownToTheServers() {
    try (CqlSession session = node().connectAsItLikes()) {
      assertEquals("V5", session.getContext().getProtocolVersion().name());
      assertEquals(1, session.execute("SELECT key FROM system.local").all().size());
      // This session asked for the server's own keyspaces too.
      Metadata metadata = session.getMetadata();
      assertTrue(metadata.getKeyspace("system").orElseThrow().getTable("local").isPresent());
      assertTrue(metadata.getKeyspace("system_schema").orElseThrow().getTable("tables").isPresent());
    }
  }

  @Test
  default void theNodeIsKnown() {
    assertEquals(1, session().getMetadata().getNodes().size());
    Node found = session().getMetadata().getNodes().values().iterator().next();
    assertEquals("datacenter1", found.getDatacenter());
    assertEquals("rack1", found.getRack());
    assertEquals("5.0.6", found.getCassandraVersion().toString());
    assertTrue(found.getHostId() != null && found.getSchemaVersion() != null);
    assertEquals("Test Cluster", session().getMetadata().getClusterName().orElseThrow());
    // The default of `num_tokens`; the real Cassandra that `cargo xtask cassandra` runs has one token.
    int tokens = System.getenv("HELENUS_AGAINST") == null ? 16 : 1;
    assertEquals(tokens, session().getMetadata().getTokenMap().orElseThrow().getTokens(found).size());
  }

  @Test
  default void theSchemaIsAgreedOn() {
    assertTrue(session().checkSchemaAgreement());
  }
}
