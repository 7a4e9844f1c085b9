package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** A ring of three nodes, of which some are killed. By its name it is no part of a run of all tests, which has no ring. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RingSuite {
  private static final int TOKENS = 16;

  private static Ring ring;
  private static InetSocketAddress first;
  private static InetSocketAddress second;
  private static final Ring.Heard heard = new Ring.Heard();
  private static CqlSession session;

  @BeforeAll
  static void start() throws Exception {
    ring = Ring.ofTheEnvironment();
    first = ring.addresses.get(0);
    second = ring.addresses.get(1);
    Ring.command("settle");
    session = Ring.through(first, heard);
  }

  @AfterAll
  static void stop() {
    if (session != null) {
      session.close();
    }
  }

  @Test
  @Order(1)
  void eachNodeAloneLeadsToAllThree() throws InterruptedException {
    Map<String, Ring.Known> known = Ring.described(session);
    assertEquals(ring.addresses.stream().map(InetSocketAddress::toString).collect(Collectors.toSet()), known.keySet());
    assertEquals(3, known.values().stream().map(Ring.Known::id).distinct().count());
    for (Ring.Known node : known.values()) {
      assertEquals(List.of("datacenter1", "rack1", TOKENS), List.of(node.datacenter(), node.rack(), node.tokens().size()));
    }
    assertEquals(3 * TOKENS, known.values().stream().flatMap(node -> node.tokens().stream()).distinct().count());
    for (InetSocketAddress address : ring.addresses) {
      try (CqlSession other = Ring.through(address, new Ring.Heard())) {
        assertEquals(known, Ring.described(other));
        Subject.waitFor("all nodes are up", () -> Ring.areAllUp(other));
      }
    }
  }

  @Test
  @Order(2)
  void theSchemaOfOneNodeIsThatOfAll() {
    session.execute("DROP KEYSPACE IF EXISTS ring");
    ResultSet made = ask(first, "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}");
    assertTrue(made.getExecutionInfo().isSchemaInAgreement());
    ask(second, "CREATE TABLE ring.made (a int PRIMARY KEY, b text)");
    // The first question after the answer.
    Set<UUID> versions = new HashSet<>();
    for (InetSocketAddress address : ring.addresses) {
      versions.add(one(ask(address, "SELECT schema_version FROM system.local")).getUuid(0));
    }
    assertEquals(1, versions.size());
    for (int number = 0; number < 3; number++) {
      InetSocketAddress address = ring.addresses.get(number);
      ask(address, "INSERT INTO ring.made (a, b) VALUES (" + number + ", '" + address + "')");
      assertEquals(address.toString(), one(ask(address, "SELECT b FROM ring.made WHERE a = " + number)).getString(0));
    }
    assertTrue(session.refreshSchema().getKeyspace("ring").orElseThrow().getTable("made").isPresent());
    session.execute("DROP KEYSPACE ring");
  }

  @Test
  @Order(3)
  void aNodeThatIsKilledAndBackIsOneDownAndOneUp() throws Exception {
    Subject.waitFor("all nodes are up", () -> Ring.areAllUp(session));
    Map<String, Ring.Known> known = Ring.described(session);
    int told = heard.count();
    Ring.command("kill", "2");
    Subject.waitFor("the driver hears of the end", () -> heard.count() > told);
    assertEquals(List.of("down " + second), heard.from(told));
    Ring.command("start");
    Ring.command("settle");
    Subject.waitFor("the driver hears of the start", () -> Ring.areAllUp(session) && heard.count() > told + 1);
    assertEquals(known, Ring.described(session));
    assertEquals(List.of("down " + second, "up " + second), heard.from(told));
  }

  @Test
  @Order(4)
  void theControlConnectionFailsOver() throws Exception {
    Map<String, Ring.Known> known = Ring.described(session);
    assertEquals(first.toString(), Ring.control(session));
    FutureTask<Void> killing =
        new FutureTask<>(
            () -> {
              Ring.command("kill", "1");
              return null;
            });
    new Thread(killing).start();
    // None of these fails: the driver asks another node.
    Subject.waitFor(
        "another control connection",
        () -> coordinator() != null && killing.isDone() && !Ring.control(session).equals(first.toString()));
    killing.get();
    Set<UUID> coordinators = new HashSet<>();
    Subject.waitFor("both other nodes answer", () -> coordinators.add(coordinator()) && coordinators.size() == 2);
    assertFalse(coordinators.contains(known.get(first.toString()).id()));
    assertEquals(known, Ring.described(session));
    Ring.command("start");
    Subject.waitFor("all nodes are up", () -> Ring.areAllUp(session));
    assertEquals(known, Ring.described(session));
  }

  private static UUID coordinator() {
    return one(session.execute("SELECT host_id FROM system.local")).getUuid(0);
  }

  private static ResultSet ask(InetSocketAddress address, String text) {
    return session.execute(SimpleStatement.newInstance(text).setNode(Ring.node(session, address)));
  }

  private static Row one(ResultSet rows) {
    Row row = rows.one();
    assertTrue(row != null, "a row");
    return row;
  }
}
