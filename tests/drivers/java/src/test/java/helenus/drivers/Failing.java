package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.servererrors.AlreadyExistsException;
import com.datastax.oss.driver.api.core.servererrors.InvalidConfigurationInQueryException;
import com.datastax.oss.driver.api.core.servererrors.InvalidQueryException;
import com.datastax.oss.driver.api.core.servererrors.SyntaxError;
import com.datastax.oss.driver.api.core.servererrors.UnavailableException;
import org.junit.jupiter.api.Test;

/** Each error as the exception that the driver has for it. */
interface Failing extends Subject {
  private <T extends Throwable> T refused(Class<T> kind, String text) {
    return assertThrows(kind, () -> session().execute(text));
  }

  @Test
  default void wrongStatements() {
    assertTrue(refused(SyntaxError.class, "SELEKT 1").getMessage().contains("line 1:0"));
    refused(InvalidQueryException.class, "SELECT * FROM nowhere");
    refused(InvalidQueryException.class, "SELECT * FROM no_keyspace.nowhere");
    refused(InvalidQueryException.class, "SELECT nothing FROM system.local");
    refused(
        InvalidConfigurationInQueryException.class,
        "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}");
    session().execute("CREATE TABLE failing (a int PRIMARY KEY, b int)");
    refused(InvalidQueryException.class, "INSERT INTO failing (a) VALUES ('text')");
    refused(InvalidQueryException.class, "INSERT INTO failing (b) VALUES (1)");
    refused(InvalidQueryException.class, "SELECT * FROM failing WHERE b = 1");
    assertThrows(InvalidQueryException.class, () -> session().prepare("SELECT * FROM failing WHERE nothing = ?"));
  }

  @Test
  default void whatExistsAlready() {
    session().execute("CREATE TABLE twice (a int PRIMARY KEY)");
    String message = refused(AlreadyExistsException.class, "CREATE TABLE twice (a int PRIMARY KEY)").getMessage();
    assertTrue(message.contains("tested.twice"), message);
    message =
        refused(
                AlreadyExistsException.class,
                "CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            .getMessage();
    assertTrue(message.contains("tested"), message);
    session().execute("CREATE TYPE twice_type (a int)");
    refused(InvalidQueryException.class, "CREATE TYPE twice_type (a int)");
    assertTrue(!session().execute("CREATE TABLE IF NOT EXISTS twice (a int PRIMARY KEY)").iterator().hasNext());
  }

  @Test
  default void tooFewReplicas() {
    CqlSession session = session();
    session.execute(
        "CREATE KEYSPACE three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}");
    session.execute("CREATE TABLE three.t (a int PRIMARY KEY)");
    for (String text : new String[] {"INSERT INTO three.t (a) VALUES (1)", "SELECT * FROM three.t WHERE a = 1"}) {
      SimpleStatement statement =
          SimpleStatement.newInstance(text).setConsistencyLevel(ConsistencyLevel.QUORUM);
      // The driver tries the next node, of which there is none, and reports both.
      var failed =
          assertThrows(
              com.datastax.oss.driver.api.core.AllNodesFailedException.class, () -> session.execute(statement));
      var unavailable = (UnavailableException) failed.getAllErrors().values().iterator().next().get(0);
      assertEquals(ConsistencyLevel.QUORUM, unavailable.getConsistencyLevel());
      assertEquals(2, unavailable.getRequired());
      assertEquals(1, unavailable.getAlive());
    }
    session.execute("DROP KEYSPACE three");
  }
}
