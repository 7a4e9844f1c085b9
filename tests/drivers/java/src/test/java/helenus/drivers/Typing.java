package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.ProtocolVersion;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.type.DataType;
import com.datastax.oss.driver.api.core.type.codec.TypeCodec;
import com.datastax.oss.driver.api.core.type.codec.registry.CodecRegistry;
import com.datastax.oss.driver.internal.core.type.DefaultCustomType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every type there and back: bound and as text, null and, where it is bound, left out. */
interface Typing extends Subject {
  /** All types are columns of one table, since making tables is not what is tested. */
  @TestFactory
  default Stream<DynamicTest> everyTypeBothWays() {
    CqlSession session = session();
    session.execute("CREATE TYPE IF NOT EXISTS address (street text, number int, tags frozen<set<text>>)");
    session.execute(
        "CREATE TYPE IF NOT EXISTS person (name text, home frozen<address>, phones frozen<map<text, text>>,"
            + " place frozen<tuple<double, double>>)");
    List<TypedValues> all = TypedValues.all(keyspace());
    List<String> columns = IntStream.range(0, all.size()).mapToObj(i -> "c" + i + " " + all.get(i).type()).toList();
    session.execute(
        "CREATE TABLE IF NOT EXISTS typed (id int PRIMARY KEY, " + String.join(", ", columns) + ")");
    return IntStream.range(0, all.size())
        .mapToObj(i -> DynamicTest.dynamicTest(all.get(i).type(), () -> isKept(i, "c" + i, all.get(i))));
  }

  private void isKept(int number, String column, TypedValues typed) {
    CqlSession session = session();
    CodecRegistry codecs = session.getContext().getCodecRegistry();
    PreparedStatement insert = session.prepare("INSERT INTO typed (id, " + column + ") VALUES (?, ?)");
    PreparedStatement select = session.prepare("SELECT " + column + " FROM typed WHERE id = ?");
    DataType type = insert.getVariableDefinitions().get(1).getType();
    // Version 3 has no code for the youngest scalars, so that they come under their class's name, and this driver takes them for bytes.
    boolean isBytes = configuration().version() < 4 && TypedValues.SINCE_VERSION_4.contains(typed.type());
    assertEquals(isBytes, type.getProtocolCode() == 0 && type.getClass() == DefaultCustomType.class);
    List<Object> values = new ArrayList<>(typed.values());
    values.add(null);
    for (int i = 0; i < values.size(); i++) {
      Object value = values.get(i);
      TypeCodec<Object> written = isBytes ? codecs.codecFor(typed.values().get(0)) : codecs.codecFor(type);
      String constant = written.format(value);
      if (isBytes) {
        value = written.encode(value, ProtocolVersion.V3);
      }
      boolean isEmpty = typed.isMultiCell() && value != null && isEmpty(value);
      int bound = number * 1000 + 2 * i;
      int text = bound + 1;
      session.execute(insert.bind(bound, value));
      session.execute(
          SimpleStatement.newInstance(
              "INSERT INTO typed (id, " + column + ") VALUES (" + text + ", " + constant + ")"));
      for (int id : List.of(bound, text)) {
        Row row = session.execute(select.bind(id)).one();
        Object back = row.getObject(0);
        if (value == null || isEmpty) {
          // What has a cell per element and no element is nothing.
          assertTrue(row.isNull(0), typed.type() + " " + value + ": " + back);
        } else {
          assertEquals(value, back, typed.type() + (id == text ? " as text" : ""));
        }
      }
    }
    if (configuration().version() >= 4) {
      session.execute(insert.bind(number * 1000, typed.values().get(0)));
      session.execute(insert.boundStatementBuilder().setInt(0, number * 1000).build());
      Object back = session.execute(select.bind(number * 1000)).one().getObject(0);
      assertEquals(isEmpty(typed.values().get(0)) && typed.isMultiCell() ? back : typed.values().get(0), back);
    }
  }

  private static boolean isEmpty(Object value) {
    return value instanceof Collection<?> collection && collection.isEmpty()
        || value instanceof Map<?, ?> map && map.isEmpty();
  }

  @Test
  default void nestedValuesAsKeys() {
    CqlSession session = session();
    session.execute(
        "CREATE TABLE keyed (a frozen<map<int, text>>, b tuple<int, text>, c frozen<list<int>>, d int,"
            + " PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)");
    PreparedStatement insert = session.prepare("INSERT INTO keyed (a, b, c, d) VALUES (?, ?, ?, ?)");
    List<List<Integer>> up = List.of(List.of(), List.of(-1), List.of(1), List.of(1, 2), List.of(2));
    Map<Integer, String> map = Map.of(1, "one", 2, "two");
    Object tuple =
        ((com.datastax.oss.driver.api.core.type.TupleType) insert.getVariableDefinitions().get(1).getType())
            .newValue(7, "seven");
    for (List<Integer> list : up) {
      session.execute(insert.bind(map, tuple, list, list.size()));
    }
    PreparedStatement select = session.prepare("SELECT c FROM keyed WHERE a = ? AND b = ?");
    assertEquals(List.of(0, 1), select.getPartitionKeyIndices());
    List<Object> down = new ArrayList<>();
    session.execute(select.bind(map, tuple)).forEach(row -> down.add(row.getObject(0)));
    List<Object> expected = new ArrayList<>(up);
    java.util.Collections.reverse(expected);
    assertEquals(expected, down);
    PreparedStatement one = session.prepare("SELECT d FROM keyed WHERE a = ? AND b = ? AND c = ?");
    assertEquals(2, session.execute(one.bind(map, tuple, List.of(1, 2))).one().getInt(0));
    assertNull(session.execute(one.bind(map, tuple, Arrays.asList(3))).one());
  }
}
