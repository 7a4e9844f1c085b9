// Writes `comparables.txt`: for the values of `crates/cql-types/testdata/orders.txt`, and bounds of several columns, the byte-comparable form
// that Cassandra's own comparator gives them. Run once, by hand, for a version of Cassandra; the file is kept. With the jars of Maven's
// `org.apache.cassandra:cassandra-all:5.0.6` in $LIB, a JDK 17, and the exports and opens that Cassandra starts with in $FLAGS:
//
//   javac -cp "$LIB/*" -d /tmp/comparables crates/sstable/testdata/Comparables.java
//   java $FLAGS -cp "$LIB/*:/tmp/comparables" Comparables crates/cql-types/testdata/orders.txt crates/sstable/testdata/comparables.txt

import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

import org.apache.cassandra.db.*;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.schema.*;
import org.apache.cassandra.utils.ByteBufferUtil;
import org.apache.cassandra.utils.bytecomparable.*;

public class Comparables
{
    static PrintStream file;

    public static void main(String[] arguments) throws Exception
    {
        org.apache.cassandra.config.DatabaseDescriptor.clientInitialization(false);
        file = new PrintStream(arguments[1], StandardCharsets.UTF_8);
        file.println("# Byte-comparable forms (OSS50) of Cassandra 5.0.6 (cassandra-all-5.0.6.jar), written by Comparables.java.");
        file.println("# direction | type | value form, …: a clustering of that one column; - is the empty value.");
        for (String line : Files.readAllLines(Path.of(arguments[0])))
            // User-defined types are only written where their fields are known.
            if (!line.startsWith("#") && !line.startsWith("type") && !line.contains("address") && !line.contains("person"))
                values(line);
        integers();
        decimals();
        file.println("# bound | direction type, … | kind value … = form");
        bounds();
        file.println("# key | key = form with its token");
        for (String key : new String[]{ "00", "01", "0000", "00ff00", "6b6579", "ff", "0000000100", "6b657900", "00000000000000000000000000000000000000" })
            key(key);
        System.exit(0);
    }

    static void values(String line)
    {
        String[] parts = line.split(" \\|", 3);
        boolean reversed = parts[0].equals("reversed");
        String name = parts[1].trim();
        StringBuilder out = new StringBuilder(parts[0] + " | " + name + " |");
        for (String word : parts[2].trim().split(" "))
            if (!word.equals("=") && !word.isEmpty())
                out.append(" ").append(word).append(" ").append(form(type(name, reversed), word));
        file.println(out);
    }

    static void integers()
    {
        StringBuilder varints = new StringBuilder("ascending | varint |"), bigints = new StringBuilder("ascending | bigint |");
        for (int bits : new int[]{ 0, 5, 6, 7, 8, 13, 14, 20, 21, 47, 48, 49, 54, 55, 56, 62, 63, 64, 71, 72, 79, 80, 128, 1080, 1096 })
            for (int sign : new int[]{ 1, -1 })
                for (int more : new int[]{ 0, -1, 1 })
                {
                    BigInteger value = BigInteger.valueOf(sign).shiftLeft(bits).add(BigInteger.valueOf(more));
                    String word = hex(IntegerType.instance.decompose(value));
                    varints.append(" ").append(word).append(" ").append(form(IntegerType.instance, word));
                    if (value.bitLength() < 64)
                    {
                        word = hex(LongType.instance.decompose(value.longValue()));
                        bigints.append(" ").append(word).append(" ").append(form(LongType.instance, word));
                    }
                }
        // Longer than they need be; of more than eight bytes Cassandra has no form for them.
        for (String word : new String[]{ "0000", "ffff", "0000000000ff", "ffffffff80", "00ff00ff00ff00ff" })
            varints.append(" ").append(word).append(" ").append(form(IntegerType.instance, word));
        file.println(varints);
        file.println(bigints);
    }

    static void decimals()
    {
        StringBuilder out = new StringBuilder("ascending | decimal |");
        for (String text : ("0 0e100 1.1 1 0.01 -0.01 -1 -1.1 -98.9 -99 -99.9 -8.1e2000 8.1e-2000 8.1e2000 100 1000 0.001 -0.001 123456789.123456789 -123456789.123456789 "
                          + "1e2147483646 1e-2147483647 12e2147483646 -12e2147483646 -1e-2147483647 1e509 1e510 1e511 1e512 -1e509 -1e510 -1e511 -1e512 "
                          + "10.10 -10.10 100.001 -100.001 99.99 -99.99 -100 -1000 -10000 0.0001 0.00001 -0.0001 -0.00001 1e131070 1e131072 -1e131070 -1e131072").split(" "))
        {
            String word = hex(DecimalType.instance.decompose(new BigDecimal(text)));
            out.append(" ").append(word).append(" ").append(form(DecimalType.instance, word));
        }
        file.println(out);
    }

    static void bounds()
    {
        String[][] tables = { { "ascending int", "ascending text" }, { "reversed int", "reversed text" }, { "ascending text", "reversed bigint", "ascending uuid" } };
        String[][] values = { { "00000001", "61" }, { "-", "6100" }, { "6100", "8000000000000001", "00000000000040008000000000000000" }, { "-", "-", "-" } };
        for (String[] columns : tables)
        {
            AbstractType<?>[] types = new AbstractType<?>[columns.length];
            for (int i = 0; i < columns.length; i++)
                types[i] = type(columns[i].split(" ")[1], columns[i].startsWith("reversed"));
            ClusteringComparator comparator = new ClusteringComparator(types);
            StringBuilder out = new StringBuilder("bound | " + String.join(", ", columns) + " |");
            for (String[] words : values)
            {
                if (words.length != columns.length)
                    continue;
                for (int count = 0; count <= words.length; count++)
                    for (ClusteringPrefix.Kind kind : ClusteringPrefix.Kind.values())
                    {
                        if (kind == ClusteringPrefix.Kind.STATIC_CLUSTERING || kind.toString().startsWith("SSTABLE"))
                            continue;
                        if (kind == ClusteringPrefix.Kind.CLUSTERING ? count < words.length : count == 0 && kind.isBoundary())
                            continue;
                        ByteBuffer[] buffers = new ByteBuffer[count];
                        for (int i = 0; i < count; i++)
                            buffers[i] = bytes(words[i]);
                        ClusteringPrefix<?> prefix = count == 0
                                                   ? (kind.isStart() ? ClusteringBound.BOTTOM : ClusteringBound.TOP)
                                                   : kind == ClusteringPrefix.Kind.CLUSTERING
                                                   ? Clustering.make(buffers)
                                                   : kind.isBoundary()
                                                   ? ByteBufferAccessor.instance.factory().boundary(kind, buffers)
                                                   : ByteBufferAccessor.instance.factory().bound(kind, buffers);
                        out.append(" ").append(count == 0 ? (kind.isStart() ? "INCL_START_BOUND" : "INCL_END_BOUND") : kind);
                        for (int i = 0; i < count; i++)
                            out.append(" ").append(words[i]);
                        out.append(" = ").append(hex(comparator.asByteComparable(prefix)));
                    }
            }
            file.println(out);
        }
    }

    static void key(String word)
    {
        DecoratedKey key = Murmur3Partitioner.instance.decorateKey(bytes(word));
        file.println("key | " + word + " = " + hex(key));
    }

    static AbstractType<?> type(String name, boolean reversed)
    {
        AbstractType<?> type = CQLTypeParser.parse("ks", name, Types.none());
        return reversed ? ReversedType.getInstance(type) : type;
    }

    static String form(AbstractType<?> type, String word)
    {
        return hex(new ClusteringComparator(type).asByteComparable(Clustering.make(bytes(word))));
    }

    static ByteBuffer bytes(String word)
    {
        return word.equals("-") ? ByteBufferUtil.EMPTY_BYTE_BUFFER : ByteBufferUtil.hexToBytes(word);
    }

    static String hex(ByteBuffer buffer)
    {
        return ByteBufferUtil.bytesToHex(buffer);
    }

    static String hex(ByteComparable comparable)
    {
        StringBuilder out = new StringBuilder();
        ByteSource source = comparable.asComparableBytes(ByteComparable.Version.OSS50);
        for (int next = source.next(); next != ByteSource.END_OF_STREAM; next = source.next())
            out.append(String.format("%02x", next));
        return out.toString();
    }
}
