// Writes `orders.txt`: values of every type in the order that Cassandra's own types give them. Run once, by hand, for a version of Cassandra;
// the file is kept. With the jars of Maven's `org.apache.cassandra:cassandra-all:5.0.6` in $LIB, a JDK 17, and the exports and opens that
// Cassandra starts with in $FLAGS:
//
//   javac -cp "$LIB/*" -d /tmp/orders crates/cql-types/testdata/Orders.java
//   java $FLAGS -cp "$LIB/*:/tmp/orders" Orders crates/cql-types/testdata/orders.txt

import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

import org.apache.cassandra.cql3.FieldIdentifier;
import org.apache.cassandra.db.marshal.*;

public class Orders
{
    static final Random random = new Random(5006);
    /** Not standard output, which the log goes to. */
    static PrintStream file;

    public static void main(String[] arguments) throws Exception
    {
        file = new PrintStream(arguments[0], StandardCharsets.UTF_8);
        org.apache.cassandra.config.DatabaseDescriptor.clientInitialization(false);
        file.println("# Values of each type in the order of Cassandra 5.0.6 (cassandra-all-5.0.6.jar), written by Orders.java.");
        file.println("# direction | type | values in hex, ascending; = stands between equal ones; - is the empty value.");
        file.println("# type | a user-defined type | its fields");
        write("ascii", AsciiType.instance, texts("", "a", "A", "ab", "b", "\0", "\0\0", "a\0", "a\0b", "a\1", "~", "\u007f", "zz"));
        write("text", UTF8Type.instance, texts("", "a", "ab", "b", "\0", "a\0", "a\0\0", "a\1", "\u00e9", "\u4e2d", "\ud83d\ude00", "\uffff", "~"));
        write("blob", BytesType.instance, hexes("", "00", "0000", "0001", "01", "00ff", "7f", "80", "ff", "ff00", "ff01", "ffff", "00ff01"));
        write("boolean", BooleanType.instance, hexes("", "00", "01", "02", "ff"));
        write("tinyint", ByteType.instance, integers(1, false));
        write("smallint", ShortType.instance, integers(2, false));
        write("int", Int32Type.instance, integers(4, true));
        write("bigint", LongType.instance, integers(8, true));
        write("timestamp", TimestampType.instance, integers(8, true));
        write("time", TimeType.instance, hexes("0000000000000000", "0000000000000001", "00004e94914effff", "00000000000f4240", "0000001000000000", "00004e94914f0000"));
        write("date", SimpleDateType.instance, integers(4, false));
        write("float", FloatType.instance, floats());
        write("double", DoubleType.instance, doubles());
        write("varint", IntegerType.instance, varints());
        write("decimal", DecimalType.instance, decimals());
        write("inet", InetAddressType.instance, hexes("", "00000000", "7f000001", "80000000", "ffffffff", "0a000001", "00000000000000000000000000000000",
            "00000000000000000000000000000001", "fe800000000000000000000000000001", "20010db8000000000000000000000001", "ffffffffffffffffffffffffffffffff", "7f000001000000000000000000000000"));
        write("uuid", UUIDType.instance, uuids(false));
        write("timeuuid", TimeUUIDType.instance, uuids(true));
        write("duration", DurationType.instance, hexes("000000", "020202", "010101", "0000fffffffffffffffffe", "04021e", "000002"));

        List<ByteBuffer> ints = hexes("00000000", "00000001", "ffffffff", "7fffffff", "80000000", "");
        List<ByteBuffer> words = texts("", "a", "ab", "b", "a\0");
        ListType<Integer> inner = ListType.getInstance(Int32Type.instance, false);
        TupleType pair = new TupleType(Arrays.asList(Int32Type.instance, UTF8Type.instance));
        List<ByteBuffer> lists = collections(ints.subList(0, 4), null);
        write("frozen<list<int>>", inner, collections(ints, null));
        write("frozen<list<text>>", ListType.getInstance(UTF8Type.instance, false), collections(words, null));
        write("frozen<set<int>>", SetType.getInstance(Int32Type.instance, false), collections(ints.subList(0, 5), Int32Type.instance));
        write("frozen<set<text>>", SetType.getInstance(UTF8Type.instance, false), collections(words, UTF8Type.instance));
        write("frozen<map<int, text>>", MapType.getInstance(Int32Type.instance, UTF8Type.instance, false), maps(Int32Type.instance, ints.subList(0, 5), words));
        write("frozen<map<text, int>>", MapType.getInstance(UTF8Type.instance, Int32Type.instance, false), maps(UTF8Type.instance, words, ints));
        write("frozen<list<frozen<list<int>>>>", ListType.getInstance(inner, false), collections(lists, null));
        write("frozen<map<frozen<list<int>>, frozen<set<text>>>>", MapType.getInstance(inner, SetType.getInstance(UTF8Type.instance, false), false),
            maps(inner, lists, collections(words, UTF8Type.instance)));
        write("frozen<tuple<int, text>>", pair, tuples(ints, words));
        write("frozen<tuple<frozen<list<int>>, decimal>>", new TupleType(Arrays.asList(inner, DecimalType.instance)), tuples(lists, decimals().subList(0, 10)));
        write("frozen<tuple<uuid, varint>>", new TupleType(Arrays.asList(UUIDType.instance, IntegerType.instance)), tuples(uuids(false), varints()));
        write("frozen<list<frozen<tuple<int, text>>>>", ListType.getInstance(pair, false), collections(tuples(ints, words).subList(0, 10), null));
        write("vector<int, 2>", VectorType.getInstance(Int32Type.instance, 2), vectors(ints.subList(0, 5), 2, false));
        write("vector<float, 3>", VectorType.getInstance(FloatType.instance, 3), vectors(floats().subList(1, 10), 3, false));
        write("vector<text, 2>", VectorType.getInstance(UTF8Type.instance, 2), vectors(words, 2, true));
        write("vector<vector<int, 2>, 2>", VectorType.getInstance(VectorType.getInstance(Int32Type.instance, 2), 2), vectors(vectors(ints.subList(0, 5), 2, false), 2, false));

        UserType address = type("address", "street text, number int", UTF8Type.instance, Int32Type.instance);
        List<ByteBuffer> addresses = tuples(words, ints);
        write("frozen<address>", address, addresses);
        write("frozen<list<frozen<address>>>", ListType.getInstance(address, false), collections(addresses.subList(0, 10), null));
        write("frozen<map<frozen<address>, int>>", MapType.getInstance(address, Int32Type.instance, false), maps(address, addresses.subList(0, 10), ints));
        UserType person = type("person", "id timeuuid, home frozen<address>", TimeUUIDType.instance, address);
        write("frozen<person>", person, tuples(uuids(true), addresses));

        byClass("LexicalUUIDType", uuids(false));
        byClass("CompositeType(UTF8Type,Int32Type)", composites(true, words, ints));
        byClass("CompositeType(ReversedType(Int32Type),LexicalUUIDType,DecimalType)", composites(true, ints, uuids(false), decimals().subList(0, 20)));
        byClass("CompositeType(CompositeType(Int32Type),ListType(Int32Type))", composites(true, composites(false, ints), lists));
        byClass("DynamicCompositeType(s=>UTF8Type,i=>Int32Type,R=>ReversedType(LongType),a=>AsciiType)", dynamic(words, ints));
    }

    /** A type that no name of CQL stands for. */
    static void byClass(String name, List<ByteBuffer> values)
    {
        write("'" + name + "'", TypeParser.parse(name), values);
    }

    /** Composites of a value of each list, or of the first ones', with all ends; static ones as well. */
    static List<ByteBuffer> composites(boolean statics, List<ByteBuffer>... parts)
    {
        List<ByteBuffer> out = new ArrayList<>();
        out.add(bytes(""));
        for (int i = 0; i < 32; i++)
        {
            ByteBuffer composite = ByteBuffer.allocate(1 << 12);
            if (statics && i % 8 == 7)
                composite.putShort((short) 0xffff);
            int count = 1 + random.nextInt(parts.length);
            for (int j = 0; j < count; j++)
                component(composite, parts[j].get(random.nextInt(parts[j].size())), j + 1 < count ? 0 : i % 3 - 1);
            out.add(ByteBuffer.wrap(Arrays.copyOf(composite.array(), composite.position())));
        }
        return out;
    }

    /** Dynamic composites of texts and numbers under aliases and by the names of classes. */
    static List<ByteBuffer> dynamic(List<ByteBuffer> words, List<ByteBuffer> ints)
    {
        String[] names = { "UTF8Type", "org.apache.cassandra.db.marshal.Int32Type", "ReversedType(Int32Type)", "BytesType", "s", "i", "R", "a" };
        List<ByteBuffer> out = new ArrayList<>();
        out.add(bytes(""));
        for (int i = 0; i < 40; i++)
        {
            ByteBuffer composite = ByteBuffer.allocate(1 << 12);
            int count = 1 + random.nextInt(2);
            for (int j = 0; j < count; j++)
            {
                String name = names[random.nextInt(names.length)];
                if (name.length() == 1)
                    composite.put((byte) 0x80).put((byte) name.charAt(0));
                else
                    composite.putShort((short) name.length()).put(name.getBytes(StandardCharsets.UTF_8));
                boolean isLong = name.equals("R");
                List<ByteBuffer> values = isLong ? hexes("0000000000000001", "ffffffffffffffff", "") : name.contains("32") || name.equals("i") ? ints : words;
                component(composite, values.get(random.nextInt(values.size())), j + 1 < count ? 0 : i % 3 - 1);
            }
            out.add(ByteBuffer.wrap(Arrays.copyOf(composite.array(), composite.position())));
        }
        return out;
    }

    static void component(ByteBuffer composite, ByteBuffer value, int end)
    {
        composite.putShort((short) value.remaining()).put(value.duplicate()).put((byte) end);
    }

    /** A user-defined type, which the file says before the lines that name it. */
    static UserType type(String name, String fields, AbstractType<?>... types)
    {
        file.println("type | " + name + " | " + fields);
        List<FieldIdentifier> names = new ArrayList<>();
        for (String field : fields.split(", "))
            names.add(FieldIdentifier.forUnquoted(field.split(" ")[0]));
        return new UserType("ks", ByteBuffer.wrap(name.getBytes(StandardCharsets.UTF_8)), names, Arrays.asList(types), false);
    }

    static void write(String name, AbstractType<?> type, List<ByteBuffer> values)
    {
        Set<ByteBuffer> valid = new LinkedHashSet<>();
        for (ByteBuffer value : values)
        {
            try
            {
                type.validate(value);
                valid.add(value);
            }
            catch (Exception refused)
            {
                System.err.println(name + " refuses " + hex(value) + ": " + refused.getMessage());
            }
        }
        line("ascending", name, type, valid);
        line("reversed", name, ReversedType.getInstance(type), valid);
    }

    static void line(String direction, String name, AbstractType<?> type, Set<ByteBuffer> values)
    {
        List<ByteBuffer> sorted = new ArrayList<>(values);
        // The input's order must not show where values are equal.
        Collections.sort(sorted);
        sorted.sort(type::compare);
        StringBuilder out = new StringBuilder(direction + " | " + name + " |");
        int[] groups = new int[sorted.size()];
        for (int i = 0; i < groups.length; i++)
        {
            boolean equal = i > 0 && type.compare(sorted.get(i - 1), sorted.get(i)) == 0;
            groups[i] = i == 0 ? 0 : groups[i - 1] + (equal ? 0 : 1);
            out.append(equal ? " = " : " ").append(hex(sorted.get(i)));
        }
        for (int i = 0; i < groups.length; i++)
            for (int j = 0; j < groups.length; j++)
                if (Integer.signum(type.compare(sorted.get(i), sorted.get(j))) != Integer.compare(groups[i], groups[j]))
                    throw new AssertionError(name + " is no total order: " + hex(sorted.get(i)) + ", " + hex(sorted.get(j)));
        file.println(out);
    }

    static String hex(ByteBuffer value)
    {
        StringBuilder out = new StringBuilder();
        for (int i = value.position(); i < value.limit(); i++)
            out.append(String.format("%02x", value.get(i)));
        return out.length() == 0 ? "-" : out.toString();
    }

    static ByteBuffer bytes(String hex)
    {
        byte[] out = new byte[hex.length() / 2];
        for (int i = 0; i < out.length; i++)
            out[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        return ByteBuffer.wrap(out);
    }

    static List<ByteBuffer> hexes(String... values)
    {
        List<ByteBuffer> out = new ArrayList<>();
        for (String value : values)
            out.add(bytes(value));
        return out;
    }

    static List<ByteBuffer> texts(String... values)
    {
        List<ByteBuffer> out = new ArrayList<>();
        for (String value : values)
            out.add(ByteBuffer.wrap(value.getBytes(StandardCharsets.UTF_8)));
        return out;
    }

    static ByteBuffer noise(int length)
    {
        byte[] out = new byte[length];
        random.nextBytes(out);
        return ByteBuffer.wrap(out);
    }

    static List<ByteBuffer> integers(int length, boolean empty)
    {
        List<ByteBuffer> out = new ArrayList<>();
        if (empty)
            out.add(bytes(""));
        for (String first : new String[] { "00", "01", "7f", "80", "81", "ff", "fe" })
            for (String rest : new String[] { "00", "01", "ff" })
                out.add(bytes(first + rest.repeat(length - 1)));
        for (int i = 0; i < 6; i++)
            out.add(noise(length));
        return out;
    }

    static List<ByteBuffer> floats()
    {
        List<ByteBuffer> out = hexes("", "00000000", "80000000", "3f800000", "bf800000", "7f800000", "ff800000", "7fc00000", "ffc00000", "00000001", "80000001", "7f7fffff", "ff7fffff", "7fc00001", "3e800000");
        for (int i = 0; i < 6; i++)
            out.add(noise(4));
        return out;
    }

    static List<ByteBuffer> doubles()
    {
        List<ByteBuffer> out = hexes("", "0000000000000000", "8000000000000000", "3ff0000000000000", "bff0000000000000", "7ff0000000000000", "fff0000000000000", "7ff8000000000000",
            "fff8000000000000", "0000000000000001", "8000000000000001", "7fefffffffffffff", "ffefffffffffffff", "7ff8000000000001");
        for (int i = 0; i < 6; i++)
            out.add(noise(8));
        return out;
    }

    static List<ByteBuffer> varints()
    {
        List<ByteBuffer> out = hexes("", "00", "01", "ff", "7f", "80", "0080", "ff7f", "7fff", "8000", "008000", "ff7fff", "0000", "0001", "ffff", "00ff", "ff00");
        for (int shift : new int[] { 31, 63, 64, 127, 128, 400 })
        {
            BigInteger power = BigInteger.ONE.shiftLeft(shift);
            for (BigInteger value : new BigInteger[] { power, power.subtract(BigInteger.ONE), power.negate(), power.negate().subtract(BigInteger.ONE) })
                out.add(ByteBuffer.wrap(value.toByteArray()));
        }
        return out;
    }

    static List<ByteBuffer> decimals()
    {
        List<ByteBuffer> out = new ArrayList<>();
        for (String text : new String[] { "0", "0.0", "0E+5", "0E-300", "1", "1.0", "10E-1", "1.00000000000000000000", "-1", "-1.0", "10", "9.99", "1E+100", "1E-100", "-1E+100", "-1E-100", "0.5", "-0.5",
            "123456789012345678901234567890.5", "-123456789012345678901234567890.5", "99", "100", "1E+2", "101", "0.1", "0.10", "0.09", "1E+2000000", "-1E+2000000", "1E-2000000" })
        {
            BigDecimal value = new BigDecimal(text);
            byte[] digits = value.unscaledValue().toByteArray();
            ByteBuffer bytes = ByteBuffer.allocate(4 + digits.length).putInt(value.scale()).put(digits);
            out.add(ByteBuffer.wrap(bytes.array()));
        }
        out.add(bytes(""));
        return out;
    }

    static List<ByteBuffer> uuids(boolean timed)
    {
        List<ByteBuffer> out = hexes("", "00000000000010008000000000000000", "00000001000010008000000000000000", "00000000000110008000000000000000", "00000000000010018000000000000000",
            "ffffffffffff1fff8000000000000000", "00000000000010008000000000000001", "00000000000010008000000000000080", "0000000000001000807f000000000000", "000000000000100080ff000000000000",
            "0000000000001000bfffffffffffffff", "ffffffff000010008000000000000000");
        if (!timed)
            out.addAll(hexes("00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff", "00000000000040008000000000000000", "00000000000040008000000000000001", "ffffffffffff4fffbfffffffffffffff",
                "00000000000030008000000000000000", "00000000000050008000000000000000", "00000000000020008000000000000000", "00000000000070008000000000000000", "0000000000004000c000000000000000"));
        for (int i = 0; i < 8; i++)
        {
            ByteBuffer one = noise(16);
            one.put(6, (byte) ((one.get(6) & 0x0f) | (timed || i % 2 == 0 ? 0x10 : 0x40)));
            one.put(8, (byte) ((one.get(8) & 0x3f) | 0x80));
            out.add(one);
        }
        return out;
    }

    /** Some collections of the elements; sorted and each once where the type of a set's elements is given. */
    static List<ByteBuffer> collections(List<ByteBuffer> elements, AbstractType<?> ofSet)
    {
        List<ByteBuffer> out = new ArrayList<>();
        out.add(joined(Collections.emptyList(), 0));
        for (ByteBuffer element : elements)
            out.add(joined(Collections.singletonList(element), 1));
        for (int i = 0; i < 20; i++)
        {
            Collection<ByteBuffer> chosen = ofSet == null ? new ArrayList<>() : new TreeSet<>(ofSet::compare);
            for (int count = 1 + random.nextInt(3); count > 0; count--)
                chosen.add(elements.get(random.nextInt(elements.size())));
            out.add(joined(chosen, chosen.size()));
        }
        return out;
    }

    static List<ByteBuffer> maps(AbstractType<?> keys, List<ByteBuffer> keyValues, List<ByteBuffer> values)
    {
        List<ByteBuffer> out = new ArrayList<>();
        for (int i = 0; i < 28; i++)
        {
            TreeMap<ByteBuffer, ByteBuffer> map = new TreeMap<>(keys::compare);
            for (int count = i == 0 ? 0 : random.nextInt(4); count > 0; count--)
                map.put(keyValues.get(random.nextInt(keyValues.size())), values.get(random.nextInt(values.size())));
            List<ByteBuffer> parts = new ArrayList<>();
            map.forEach((key, value) -> Collections.addAll(parts, key, value));
            out.add(joined(parts, map.size()));
        }
        return out;
    }

    /** Pairs, some with a null or without the second. */
    static List<ByteBuffer> tuples(List<ByteBuffer> first, List<ByteBuffer> second)
    {
        List<ByteBuffer> out = new ArrayList<>();
        out.add(bytes(""));
        for (int i = 0; i < 28; i++)
        {
            ByteBuffer a = i % 7 == 3 ? null : first.get(random.nextInt(first.size()));
            ByteBuffer b = i % 5 == 2 ? null : second.get(random.nextInt(second.size()));
            out.add(joined(i % 6 == 5 ? Collections.singletonList(a) : Arrays.asList(a, b), -1));
        }
        return out;
    }

    static ByteBuffer joined(Collection<ByteBuffer> parts, int count)
    {
        ByteBuffer out = ByteBuffer.allocate(1 << 12);
        if (count >= 0)
            out.putInt(count);
        for (ByteBuffer part : parts)
        {
            out.putInt(part == null ? -1 : part.remaining());
            if (part != null)
                out.put(part.duplicate());
        }
        return ByteBuffer.wrap(Arrays.copyOf(out.array(), out.position()));
    }

    /** Vectors of the elements; where those have no fixed length, each has it before it as an unsigned varint (here below 128). */
    static List<ByteBuffer> vectors(List<ByteBuffer> elements, int dimension, boolean hasLengths)
    {
        List<ByteBuffer> out = new ArrayList<>();
        for (int i = 0; i < 24; i++)
        {
            ByteBuffer vector = ByteBuffer.allocate(1 << 10);
            for (int j = 0; j < dimension; j++)
            {
                ByteBuffer element = elements.get(random.nextInt(elements.size()));
                if (hasLengths)
                    vector.put((byte) element.remaining());
                vector.put(element.duplicate());
            }
            out.add(ByteBuffer.wrap(Arrays.copyOf(vector.array(), vector.position())));
        }
        return out;
    }
}
