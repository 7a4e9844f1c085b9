package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.metadata.schema.ClusteringOrder;
import com.datastax.oss.driver.api.core.metadata.schema.ColumnMetadata;
import com.datastax.oss.driver.api.core.metadata.schema.KeyspaceMetadata;
import com.datastax.oss.driver.api.core.metadata.schema.TableMetadata;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Keyspaces, tables and types as the driver sees them, and the events that keep its picture true. */
interface Describing extends Subject {
  @Test
  default void aKeyspace() {
    KeyspaceMetadata keyspace = keyspace();
    assertEquals(
        Map.of("class", "org.apache.cassandra.locator.SimpleStrategy", "replication_factor", "1"),
        keyspace.getReplication());
    assertTrue(keyspace.isDurableWrites() && !keyspace.isVirtual());
  }

  @Test
  default void aTable() {
    session()
        .execute(
            "CREATE TABLE described (a int, b text, c timestamp, d bigint, s map<text, int> STATIC, \"Quoted\" blob,"
                + " v frozen<list<uuid>>, w vector<float, 3>, PRIMARY KEY ((a, b), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)"
                + " AND comment = 'it''s said' AND default_time_to_live = 86400 AND gc_grace_seconds = 3600");
    TableMetadata table = keyspace().getTable("described").orElseThrow();
    assertEquals(List.of("a", "b"), names(table.getPartitionKey()));
    Map<String, ClusteringOrder> clustering = new LinkedHashMap<>();
    table.getClusteringColumns().forEach((column, order) -> clustering.put(column.getName().asInternal(), order));
    assertEquals(Map.of("c", ClusteringOrder.DESC, "d", ClusteringOrder.ASC), clustering);
    Map<String, String> types = new LinkedHashMap<>();
    table.getColumns().forEach((name, column) -> types.put(name.asInternal(), column.getType().asCql(true, true)));
    assertEquals(
        Map.of(
            "a", "int", "b", "text", "c", "timestamp", "d", "bigint", "s", "map<text, int>", "Quoted", "blob",
            "v", "frozen<list<uuid>>", "w", "vector<float, 3>"),
        Map.copyOf(upToVectors(types)));
    assertTrue(table.getColumn("s").orElseThrow().isStatic());
    assertEquals("it's said", table.getOptions().get(CqlIdentifier.fromInternal("comment")));
    assertEquals(86400, table.getOptions().get(CqlIdentifier.fromInternal("default_time_to_live")));
    assertEquals(3600, table.getOptions().get(CqlIdentifier.fromInternal("gc_grace_seconds")));
    session().execute("DROP TABLE described");
    session().execute(table.describe(false));
    assertEquals(table.describe(true), keyspace().getTable("described").orElseThrow().describe(true));
  }

  @Test
  default void aUserDefinedType() {
    session().execute("CREATE TYPE inner_described (a int, b frozen<list<text>>)");
    session().execute("CREATE TYPE outer_described (one frozen<inner_described>, two tuple<int, text>)");
    UserDefinedType outer = keyspace().getUserDefinedType("outer_described").orElseThrow();
    assertEquals(List.of("one", "two"), outer.getFieldNames().stream().map(CqlIdentifier::asInternal).toList());
    UserDefinedType inner = (UserDefinedType) outer.getFieldTypes().get(0);
    assertEquals("inner_described", inner.getName().asInternal());
    assertEquals("frozen<list<text>>", inner.getFieldTypes().get(1).asCql(true, true));
  }

  @Test
  default void schemaChangesReachAnotherClient() throws InterruptedException {
    try (CqlSession other = node().connect(configuration())) {
      session().execute("CREATE TABLE announced (a int PRIMARY KEY, b text)");
      waitForTable(other, "created", table -> true);
      session().execute("ALTER TABLE announced ADD c int");
      waitForTable(other, "altered", table -> table.getColumn("c").isPresent());
      session().execute("DROP TABLE announced");
      Subject.waitFor("dropped", () -> seen(other).getTable("announced").isEmpty());
      session().execute("CREATE TYPE announced_type (a int)");
      Subject.waitFor("a type", () -> seen(other).getUserDefinedType("announced_type").isPresent());
      session().execute("ALTER TYPE announced_type ADD b text");
      Subject.waitFor(
          "a type's field",
          () -> seen(other).getUserDefinedType("announced_type").orElseThrow().getFieldNames().size() == 2);
      session().execute("DROP TYPE announced_type");
      Subject.waitFor("no type", () -> seen(other).getUserDefinedType("announced_type").isEmpty());
      session()
          .execute(
              "CREATE KEYSPACE announced WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
      Subject.waitFor("a keyspace", () -> other.getMetadata().getKeyspace("announced").isPresent());
      session().execute("ALTER KEYSPACE announced WITH durable_writes = false");
      Subject.waitFor(
          "an altered keyspace",
          () -> !other.getMetadata().getKeyspace("announced").orElseThrow().isDurableWrites());
      session().execute("DROP KEYSPACE announced");
      Subject.waitFor("no keyspace", () -> other.getMetadata().getKeyspace("announced").isEmpty());
    }
  }

  private static KeyspaceMetadata seen(CqlSession other) {
    return other.getMetadata().getKeyspace(KEYSPACE).orElseThrow();
  }

  private static void waitForTable(CqlSession other, String what, Predicate<TableMetadata> condition)
      throws InterruptedException {
    Subject.waitFor(what, () -> seen(other).getTable("announced").filter(condition).isPresent());
  }

  private static List<String> names(List<ColumnMetadata> columns) {
    return columns.stream().map(column -> column.getName().asInternal()).toList();
  }

  /** This driver prints a vector's type by its class's name. */
  private static Map<String, String> upToVectors(Map<String, String> types) {
    types.computeIfPresent("w", (name, type) -> type.toLowerCase().contains("vector") ? "vector<float, 3>" : type);
    return types;
  }
}
