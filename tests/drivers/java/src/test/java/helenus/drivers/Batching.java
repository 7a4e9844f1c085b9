package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.BatchStatement;
import com.datastax.oss.driver.api.core.cql.BatchStatementBuilder;
import com.datastax.oss.driver.api.core.cql.DefaultBatchType;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Batches, logged and not, of prepared statements and of texts. */
interface Batching extends Subject {
  @Test
  default void aLoggedBatch() {
    isApplied(DefaultBatchType.LOGGED);
  }

  @Test
  default void anUnloggedBatch() {
    isApplied(DefaultBatchType.UNLOGGED);
  }

  private void isApplied(DefaultBatchType kind) {
    CqlSession session = session();
    String table = "batched_" + kind.name().toLowerCase();
    session.execute("CREATE TABLE " + table + " (a int, b int, c text, PRIMARY KEY (a, b))");
    PreparedStatement insert = session.prepare("INSERT INTO " + table + " (a, b, c) VALUES (?, ?, ?)");
    BatchStatementBuilder batch = BatchStatement.builder(kind);
    for (int i = 0; i < 100; i++) {
      batch.addStatement(insert.bind(i % 7, i, "" + i));
    }
    batch.addStatement(
        SimpleStatement.newInstance("INSERT INTO " + table + " (a, b, c) VALUES (?, ?, ?)", 100, 100, "text"));
    batch.addStatement(SimpleStatement.newInstance("DELETE FROM " + table + " WHERE a = 0 AND b = 0"));
    session.execute(batch.build());
    Map<List<Integer>, String> rows = new HashMap<>();
    for (Row row : session.execute("SELECT * FROM " + table)) {
      rows.put(List.of(row.getInt("a"), row.getInt("b")), row.getString("c"));
    }
    // At equal timestamps a deletion wins.
    assertTrue(!rows.containsKey(List.of(0, 0)));
    assertEquals(100, rows.size());
    assertEquals("text", rows.get(List.of(100, 100)));
    assertEquals("99", rows.get(List.of(1, 99)));
  }

  @Test
  default void aBatchAsText() {
    CqlSession session = session();
    session.execute("CREATE TABLE batched_text (a int, b int, PRIMARY KEY (a, b))");
    session.execute(
        "BEGIN UNLOGGED BATCH USING TIMESTAMP 77 INSERT INTO batched_text (a, b) VALUES (?, 1);"
            + " INSERT INTO batched_text (a, b) VALUES (?, 1); APPLY BATCH",
        1,
        2);
    assertEquals(2, session.execute("SELECT * FROM batched_text").all().size());
  }
}
