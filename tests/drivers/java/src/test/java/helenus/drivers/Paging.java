package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Ten thousand rows, page by page. */
interface Paging extends Subject {
  int ROWS = 10_000;
  int AT_ONCE = 500;

  @Test
  default void tenThousandRows() {
    CqlSession session = session();
    session.execute("CREATE TABLE paged (part int, row int, value text, PRIMARY KEY (part, row))");
    PreparedStatement insert = session.prepare("INSERT INTO paged (part, row, value) VALUES (?, ?, ?)");
    for (int start = 0; start < ROWS; start += AT_ONCE) {
      List<CompletionStage<AsyncResultSet>> written = new ArrayList<>();
      for (int row = start; row < start + AT_ONCE; row++) {
        written.add(session.executeAsync(insert.bind(row % 10, row, "value " + row)));
      }
      written.forEach(stage -> stage.toCompletableFuture().join());
    }
    SimpleStatement all = SimpleStatement.newInstance("SELECT part, row, value FROM paged").setPageSize(333);
    ResultSet found = session.execute(all);
    assertEquals(333, found.getAvailableWithoutFetching());
    Set<Integer> seen = new HashSet<>();
    for (Row row : found) {
      int number = row.getInt("row");
      assertTrue(seen.add(number), "row " + number + " came twice");
      assertEquals(number % 10, row.getInt("part"));
      assertEquals("value " + number, row.getString("value"));
    }
    assertEquals(ROWS, seen.size());
    assertEquals((ROWS + 332) / 333, found.getExecutionInfos().size());
    PreparedStatement one = session.prepare("SELECT row FROM paged WHERE part = ? AND row >= ? ORDER BY row DESC");
    List<Integer> down = new ArrayList<>();
    session.execute(one.bind(3, 500).setPageSize(100)).forEach(row -> down.add(row.getInt(0)));
    List<Integer> expected = new ArrayList<>();
    for (int row = 9_993; row >= 500; row -= 10) {
      expected.add(row);
    }
    assertEquals(expected, down);
    assertEquals(ROWS, session.execute("SELECT count(*) FROM paged").one().getLong(0));
  }

  @Test
  default void aPageGoesOnFromItsState() {
    CqlSession session = session();
    session.execute("CREATE TABLE resumed (a int PRIMARY KEY)");
    for (int row = 0; row < 50; row++) {
      session.execute("INSERT INTO resumed (a) VALUES (?)", row);
    }
    SimpleStatement statement = SimpleStatement.newInstance("SELECT a FROM resumed").setPageSize(20);
    Set<Integer> seen = new HashSet<>();
    ByteBuffer state = null;
    for (int page = 0; page < 3; page++) {
      ResultSet found = session.execute(statement.setPagingState(state));
      for (int left = found.getAvailableWithoutFetching(); left > 0; left--) {
        seen.add(found.one().getInt(0));
      }
      state = found.getExecutionInfo().getPagingState();
    }
    assertEquals(50, seen.size());
    assertNull(state);
  }
}
