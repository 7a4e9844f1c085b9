package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Values by place and by name, null and unset, timestamps, tracing and payloads, long values. */
interface Statements extends Subject {
  @Test
  default void valuesByPlaceAndByName() {
    CqlSession session = session();
    session.execute("CREATE TABLE bound (a int, b text, c int, PRIMARY KEY (a, b))");
    session.execute("INSERT INTO bound (a, b, c) VALUES (?, ?, ?)", 1, "x", 2);
    session.execute(
        SimpleStatement.newInstance(
            "INSERT INTO bound (a, b, c) VALUES (:a, :b, :c)", Map.of("a", 1, "b", "y", "c", 3)));
    PreparedStatement select = session.prepare("SELECT c FROM bound WHERE a = :a AND b = :b");
    assertEquals(List.of(0), select.getPartitionKeyIndices().subList(0, 1));
    assertEquals(2, session.execute(select.bind(1, "x")).one().getInt("c"));
    assertEquals(3, session.execute(select.boundStatementBuilder().setString("b", "y").setInt("a", 1).build()).one().getInt(0));
    assertNull(session.execute(select.bind(2, "x")).one());
  }

  @Test
  default void whatIsNotSetIsLeftAlone() {
    CqlSession session = session();
    session.execute("CREATE TABLE sparse (a int PRIMARY KEY, b int, c int)");
    PreparedStatement insert = session.prepare("INSERT INTO sparse (a, b, c) VALUES (?, ?, ?)");
    session.execute(insert.bind(1, 2, 3));
    if (configuration().version() < 4) {
      // Version 3 cannot say it, so the driver refuses to leave a value out, and nothing is written.
      assertThrows(IllegalStateException.class, () -> session.execute(insert.bind(1, 5)));
    } else {
      session.execute(insert.bind(1, 5));
      assertEquals(5, session.execute("SELECT * FROM sparse").one().getInt("b"));
    }
    assertEquals(3, session.execute("SELECT * FROM sparse").one().getInt("c"));
    session.execute(insert.bind(1, 5, null));
    assertTrue(session.execute("SELECT * FROM sparse").one().isNull("c"));
  }

  @Test
  default void theClientsTimestampIsKept() {
    CqlSession session = session();
    session.execute("CREATE TABLE timed (a int PRIMARY KEY, b int)");
    SimpleStatement insert = SimpleStatement.newInstance("INSERT INTO timed (a, b) VALUES (1, 2)");
    session.execute(insert.setQueryTimestamp(123_456));
    assertEquals(123_456, session.execute("SELECT writetime(b) FROM timed").one().getLong(0));
    session.execute("INSERT INTO timed (a, b) VALUES (2, 2) USING TTL 1000");
    int left = session.execute("SELECT ttl(b) FROM timed WHERE a = 2").one().getInt(0);
    assertTrue(990 < left && left <= 1000, "" + left);
  }

  @Test
  default void theKeyspaceOfARequest() {
    if (configuration().version() < 5) {
      return;
    }
    ResultSet found =
        session().execute(SimpleStatement.newInstance("SELECT key FROM local").setKeyspace("system"));
    assertEquals("local", found.one().getString(0));
    PreparedStatement prepared =
        session().prepare(SimpleStatement.newInstance("SELECT key FROM local").setKeyspace("system"));
    assertEquals("local", session().execute(prepared.bind()).one().getString(0));
  }

  @Test
  default void aTracedRequestHasAnId() {
    SimpleStatement statement = SimpleStatement.newInstance("SELECT key FROM system.local");
    assertNull(session().execute(statement).getExecutionInfo().getTracingId());
    assertNotNull(session().execute(statement.setTracing(true)).getExecutionInfo().getTracingId());
  }

  @Test
  default void aPayloadIsPassedOver() {
    if (configuration().version() < 4) {
      return;
    }
    SimpleStatement statement = SimpleStatement.newInstance("SELECT key FROM system.local");
    ByteBuffer who = ByteBuffer.wrap(new byte[] {1});
    Row row = session().execute(statement.setCustomPayload(Map.of("who", who))).one();
    assertEquals("local", row.getString(0));
  }

  @Test
  default void aLongValueInBothDirections() {
    CqlSession session = session();
    session.execute("CREATE TABLE large (a int PRIMARY KEY, b blob)");
    // Far beyond a segment of version 5.
    byte[] value = new byte[3 * 1024 * 1024];
    for (int i = 0; i < value.length; i++) {
      value[i] = (byte) (i * 31 + i / 256);
    }
    session.execute(session.prepare("INSERT INTO large (a, b) VALUES (1, ?)").bind(ByteBuffer.wrap(value)));
    assertEquals(ByteBuffer.wrap(value), session.execute("SELECT b FROM large").one().getByteBuffer(0));
  }
}
