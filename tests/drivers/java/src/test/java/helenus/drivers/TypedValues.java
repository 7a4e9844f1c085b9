package helenus.drivers;

import com.datastax.oss.driver.api.core.data.CqlDuration;
import com.datastax.oss.driver.api.core.data.CqlVector;
import com.datastax.oss.driver.api.core.data.TupleValue;
import com.datastax.oss.driver.api.core.data.UdtValue;
import com.datastax.oss.driver.api.core.metadata.schema.KeyspaceMetadata;
import com.datastax.oss.driver.api.core.type.DataTypes;
import com.datastax.oss.driver.api.core.type.TupleType;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import com.datastax.oss.driver.api.core.uuid.Uuids;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** A type as CQL writes it, and values of it: empty, extreme, with nothing inside. */
record TypedValues(String type, List<Object> values) {
  static final Set<String> SINCE_VERSION_4 = Set.of("date", "smallint", "time", "tinyint");

  private static TypedValues of(String type, Object... values) {
    return new TypedValues(type, Arrays.asList(values));
  }

  /** Whether each element is a cell of its own, so that no element at all reads as null. */
  boolean isMultiCell() {
    return type.startsWith("list") || type.startsWith("set") || type.startsWith("map");
  }

  static List<TypedValues> all(KeyspaceMetadata keyspace) {
    List<TypedValues> all = new ArrayList<>(scalars());
    all.addAll(collections());
    all.addAll(structures(keyspace));
    return all;
  }

  private static List<TypedValues> scalars() {
    byte[] everyByte = new byte[256];
    for (int i = 0; i < everyByte.length; i++) {
      everyByte[i] = (byte) i;
    }
    return List.of(
        of("ascii", "plain", "", "it's"),
        of("bigint", Long.MIN_VALUE, 0L, Long.MAX_VALUE),
        of("blob", ByteBuffer.wrap(everyByte), ByteBuffer.allocate(0)),
        of("boolean", true, false),
        of("date", LocalDate.of(1970, 1, 1), LocalDate.of(-4000, 2, 28), LocalDate.of(9999, 12, 31)),
        of(
            "decimal",
            new BigDecimal("-123456789012345678901234567890.123"),
            new BigDecimal("1E+10"),
            new BigDecimal("0.000"),
            BigDecimal.ZERO),
        of("double", 0.0, -0.0, Double.MAX_VALUE, Double.MIN_VALUE, Double.NaN, Double.NEGATIVE_INFINITY),
        of("duration", CqlDuration.newInstance(1, 2, 3), CqlDuration.newInstance(-14, -3, -5_000_000_000L)),
        of("float", 0.0f, 1.5f, Float.MAX_VALUE, Float.NaN, Float.POSITIVE_INFINITY),
        of("inet", address("127.0.0.1"), address("2001:db8::1"), address("::")),
        of("int", Integer.MIN_VALUE, 0, Integer.MAX_VALUE),
        of("smallint", Short.MIN_VALUE, (short) 0, Short.MAX_VALUE),
        of("text", "Ὅμηρος 🏺", "", "x".repeat(100_000)),
        of("time", LocalTime.MIDNIGHT, LocalTime.MAX, LocalTime.of(12, 30, 15, 123_456_789)),
        of("timestamp", Instant.EPOCH, Instant.ofEpochMilli(-1), Instant.parse("9999-12-31T23:59:59.999Z")),
        of("timeuuid", Uuids.timeBased(), Uuids.startOf(0)),
        of("tinyint", Byte.MIN_VALUE, Byte.MAX_VALUE),
        of("uuid", new UUID(0, 0), Uuids.random(), new UUID(-1, -1)),
        of("varchar", "another name for text"),
        of("varint", BigInteger.ZERO, BigInteger.valueOf(-129), BigInteger.TWO.pow(200), BigInteger.TWO.pow(200).negate()));
  }

  private static List<TypedValues> collections() {
    UUID one = new UUID(1, 1);
    return List.of(
        of("list<int>", List.of(3, 1, 3, Integer.MIN_VALUE), List.of()),
        of("set<text>", Set.of("b", "a", ""), Set.of()),
        of("map<text, int>", Map.of("b", 2, "", 0), Map.of()),
        of("list<duration>", List.of(CqlDuration.newInstance(0, 0, 1))),
        of("map<timestamp, inet>", Map.of(Instant.EPOCH, address("::1"))),
        of("frozen<list<text>>", List.of("b", "a", ""), List.of()),
        of("frozen<set<int>>", Set.of(1, -1, 0), Set.of()),
        of("frozen<map<int, boolean>>", Map.of(-1, true, 1, false), Map.of()),
        of("list<frozen<list<int>>>", List.of(List.of(1, 2), List.of(), List.of(3)), List.of()),
        of("set<frozen<set<int>>>", Set.of(Set.of(1), Set.of(), Set.of(1, 2))),
        of(
            "map<text, frozen<map<int, frozen<set<uuid>>>>>",
            Map.of("x", Map.of(1, Set.of(one), 2, Set.of()), "y", Map.of())),
        of("frozen<map<frozen<list<int>>, frozen<list<text>>>>", Map.of(List.of(1, 2), List.of("a"), List.of(), List.of())));
  }

  private static List<TypedValues> structures(KeyspaceMetadata keyspace) {
    UserDefinedType address = keyspace.getUserDefinedType("address").orElseThrow();
    UserDefinedType person = keyspace.getUserDefinedType("person").orElseThrow();
    TupleType place = DataTypes.tupleOf(DataTypes.DOUBLE, DataTypes.DOUBLE);
    UdtValue home = address.newValue("Ἴλιον", 7, Set.of("old", ""));
    UdtValue bare = address.newValue(null, null, null);
    UdtValue full = person.newValue("Helenus", home, Map.of("work", "1"), place.newValue(39.9, 26.2));
    UdtValue half = person.newValue("", bare, Map.of(), null);
    TupleType mixed = DataTypes.tupleOf(DataTypes.INT, DataTypes.TEXT, DataTypes.BOOLEAN);
    TupleType deep = DataTypes.tupleOf(DataTypes.INT, DataTypes.listOf(address, true), mixed);
    TupleValue tuple = mixed.newValue(1, "", true);
    return List.of(
        of("tuple<int, text, boolean>", tuple, mixed.newValue(null, "x", null), mixed.newValue(null, null, null)),
        of("tuple<int, frozen<list<frozen<address>>>, frozen<tuple<int, text, boolean>>>",
            deep.newValue(1, List.of(home, bare), tuple), deep.newValue(null, List.of(), null)),
        of("frozen<address>", home, bare),
        of("frozen<person>", full, half),
        // Of one that has a cell per field, one without any field is null: it stands among the frozen ones.
        of("person", full, half),
        of("list<frozen<address>>", List.of(home, bare, home), List.of()),
        of("set<frozen<tuple<int, text, boolean>>>", Set.of(tuple, mixed.newValue(2, null, null))),
        of("map<frozen<address>, frozen<person>>", Map.of(home, full, bare, half)),
        of("vector<float, 3>", vector(1.5f, -0.0f, Float.MAX_VALUE)),
        of("vector<int, 2>", vector(Integer.MIN_VALUE, Integer.MAX_VALUE)),
        of("vector<text, 3>", vector("", "a", "ἄ".repeat(200))),
        of("vector<vector<double, 2>, 2>", vector(vector(1.0, 2.0), vector(-3.0, 4.0))),
        of("list<frozen<vector<float, 2>>>", List.of(vector(1f, 2f), vector(3f, 4f))),
        of("vector<frozen<list<int>>, 2>", vector(List.of(1, 2), List.of())));
  }

  @SafeVarargs
  private static <T> CqlVector<T> vector(T... elements) {
    return CqlVector.newInstance(elements);
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException error) {
      throw new IllegalArgumentException(text, error);
    }
  }
}
