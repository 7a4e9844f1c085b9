package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.metadata.schema.KeyspaceMetadata;
import java.util.function.BooleanSupplier;

/** What the tests of a topic need: a session in the keyspace `tested`, and a way to wait. */
interface Subject {
  String KEYSPACE = "tested";

  Configuration configuration();

  Node node();

  CqlSession session();

  default KeyspaceMetadata keyspace() {
    return session().refreshSchema().getKeyspace(KEYSPACE).orElseThrow();
  }

  static void waitFor(String what, BooleanSupplier condition) throws InterruptedException {
    // No machine takes as long.
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, "waited in vain: " + what);
      Thread.sleep(5);
    }
  }
}
