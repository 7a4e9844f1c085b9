package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A session with a password, one with a wrong one, and one with none. */
class LoginTest {
  @Test
  void aClientWithAPasswordIsServedAndOthersAreNot() throws Exception {
    Node node = Node.startWithPasswords();
    try {
      try (CqlSession session = node.connect("admin", "a password of the tests")) {
        List<Row> rows = session.execute("SELECT username FROM system_views.clients").all();
        assertTrue(!rows.isEmpty() && rows.stream().allMatch(row -> "admin".equals(row.getString("username"))));
      }
      AllNodesFailedException refused =
          assertThrows(AllNodesFailedException.class, () -> node.connect("admin", "wrong").close());
      assertTrue(refused.getAllErrors().toString().contains("Provided username admin and/or password are incorrect"));
      assertThrows(AllNodesFailedException.class, () -> node.connectAsItLikes().close());
    } finally {
      node.stop();
    }
  }
}
