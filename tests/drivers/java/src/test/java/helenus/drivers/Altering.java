package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.data.UdtValue;
import com.datastax.oss.driver.api.core.servererrors.InvalidQueryException;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import org.junit.jupiter.api.Test;

/** Prepared statements whose table changed: the server forgets them, the driver prepares them anew. */
interface Altering extends Subject {
  @Test
  default void anAddedColumnIsSeenByAPreparedStar() {
    CqlSession session = session();
    session.execute("CREATE TABLE grown (a int PRIMARY KEY, b int)");
    PreparedStatement star = session.prepare("SELECT * FROM grown WHERE a = ?");
    PreparedStatement insert = session.prepare("INSERT INTO grown (a, b) VALUES (?, ?)");
    session.execute(insert.bind(1, 2));
    assertEquals(2, session.execute(star.bind(1)).one().getColumnDefinitions().size());
    session.execute("ALTER TABLE grown ADD (aa text, z list<int>)");
    session.execute("UPDATE grown SET aa = 'new', z = [1] WHERE a = 1");
    session.execute(insert.bind(2, 3));
    if (configuration().version() >= 5) {
      // Before version 5 nobody tells the driver that what it knows of the result is old.
      Row row = session.execute(star.bind(1)).one();
      assertEquals(4, row.getColumnDefinitions().size());
      assertEquals("new", row.getString("aa"));
      assertEquals(2, row.getInt("b"));
      assertEquals(4, star.getResultSetDefinitions().size());
    }
    PreparedStatement again = session.prepare("SELECT a, aa, b, z FROM grown WHERE a = ?");
    Row row = session.execute(again.bind(2)).one();
    assertEquals(3, row.getInt("b"));
    assertTrue(row.isNull("aa"));
  }

  /** Makes a change, after which the statement is no longer one. */
  private void refusedAfter(String change, BoundStatement statement) {
    session().execute(change);
    assertThrows(InvalidQueryException.class, () -> session().execute(statement));
  }

  @Test
  default void aDroppedColumnIsRefused() {
    CqlSession session = session();
    session.execute("CREATE TABLE shrunk (a int PRIMARY KEY, b int, c int)");
    PreparedStatement whole = session.prepare("SELECT a, b, c FROM shrunk WHERE a = ?");
    PreparedStatement rest = session.prepare("SELECT a, b FROM shrunk WHERE a = ?");
    session.execute("INSERT INTO shrunk (a, b, c) VALUES (1, 2, 3)");
    assertEquals(3, session.execute(whole.bind(1)).one().getInt("c"));
    refusedAfter("ALTER TABLE shrunk DROP c", whole.bind(1));
    assertEquals(2, session.execute(rest.bind(1)).one().getInt("b"));
  }

  @Test
  default void aRenamedKeyColumnIsRefused() {
    CqlSession session = session();
    session.execute("CREATE TABLE renamed (a int PRIMARY KEY, b int)");
    session.execute("INSERT INTO renamed (a, b) VALUES (1, 2)");
    PreparedStatement before = session.prepare("SELECT b FROM renamed WHERE a = ?");
    refusedAfter("ALTER TABLE renamed RENAME a TO k", before.bind(1));
    PreparedStatement after = session.prepare("SELECT b FROM renamed WHERE k = ?");
    assertEquals(2, session.execute(after.bind(1)).one().getInt("b"));
  }

  @Test
  default void aFieldAddedToAType() {
    CqlSession session = session();
    session.execute("CREATE TYPE growing (a int)");
    session.execute("CREATE TABLE holding (k int PRIMARY KEY, v frozen<growing>)");
    session.execute("INSERT INTO holding (k, v) VALUES (1, {a: 5})");
    session.execute("ALTER TYPE growing ADD b text");
    PreparedStatement select = session.prepare("SELECT v FROM holding WHERE k = ?");
    UdtValue old = session.execute(select.bind(1)).one().getUdtValue(0);
    assertEquals(5, old.getInt("a"));
    assertTrue(old.isNull("b"));
    UserDefinedType type = keyspace().getUserDefinedType("growing").orElseThrow();
    PreparedStatement insert = session.prepare("INSERT INTO holding (k, v) VALUES (?, ?)");
    session.execute(insert.bind(2, type.newValue(6, "six")));
    assertEquals("six", session.execute(select.bind(2)).one().getUdtValue(0).getString("b"));
  }

  @Test
  default void aTableMadeAnew() {
    CqlSession session = session();
    session.execute("CREATE TABLE forgotten (a int PRIMARY KEY, b int)");
    PreparedStatement select = session.prepare("SELECT b FROM forgotten WHERE a = ?");
    session.execute("DROP TABLE forgotten");
    assertThrows(InvalidQueryException.class, () -> session.execute(select.bind(1)));
    session.execute("CREATE TABLE forgotten (a int PRIMARY KEY, b int)");
    session.execute("INSERT INTO forgotten (a, b) VALUES (1, 9)");
    assertEquals(9, session.execute(select.bind(1)).one().getInt(0));
  }
}
