// Writes `tries.txt`: lengths and checksums of Partitions.db and Rows.db as Cassandra's own writers make them of generated keys, which the test
// generates alike. Run once, by hand, for a version of Cassandra; the file is kept. With the jars of Maven's
// `org.apache.cassandra:cassandra-all:5.0.6` in $LIB, a JDK 17, and the exports and opens that Cassandra starts with in $FLAGS:
//
//   javac -cp "$LIB/*" -d /tmp/tries crates/sstable/testdata/Tries.java
//   java $FLAGS -cp "/tmp/tries:$LIB/*" org.apache.cassandra.io.sstable.format.bti.Tries crates/sstable/testdata/tries.txt

package org.apache.cassandra.io.sstable.format.bti;

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.zip.CRC32;

import org.apache.cassandra.db.*;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.sstable.format.Version;
import org.apache.cassandra.io.util.*;
import org.apache.cassandra.utils.ByteBufferUtil;
import org.apache.cassandra.utils.FBUtilities;

public class Tries
{
    static PrintStream file;
    static long state;
    static Path path;

    public static void main(String[] arguments) throws Exception
    {
        org.apache.cassandra.config.DatabaseDescriptor.clientInitialization(false);
        file = new PrintStream(arguments[0], StandardCharsets.UTF_8);
        path = Files.createTempFile("tries", ".db");
        file.println("# Files that the writers of Cassandra 5.0.6 (cassandra-all-5.0.6.jar) make of generated keys; written by Tries.java.");
        file.println("# kind | pattern | count | length | crc32");
        for (int count : new int[]{ 0, 1, 2, 3, 10, 100, 1_000, 10_000, 100_000 })
            for (String pattern : new String[]{ "random", "deep", "dense", "escapes" })
                if (count <= 10_000 || !pattern.equals("deep"))
                    partitions(pattern, count);
        for (int count : new int[]{ 2, 3, 10, 100, 1_000, 10_000 })
            for (String pattern : new String[]{ "numbers", "texts", "pairs" })
                rows(pattern, count);
        Files.delete(path);
        System.exit(0);
    }

    /** SplitMix64. */
    static long next()
    {
        state += 0x9e3779b97f4a7c15L;
        long z = state;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    static long below(long bound)
    {
        return Long.remainderUnsigned(next(), bound);
    }

    static void partitions(String pattern, int count) throws Exception
    {
        state = count;
        TreeMap<DecoratedKey, Boolean> keys = new TreeMap<>();
        for (int i = 0; i < count; i++)
        {
            long token;
            byte[] key;
            switch (pattern)
            {
                case "random":
                    token = next();
                    key = ByteBuffer.allocate(8).putLong(next()).array();
                    break;
                case "deep":
                    token = 42;
                    key = new byte[304];
                    Arrays.fill(key, (byte) 'k');
                    ByteBuffer.wrap(key).putInt(300, i * 3);
                    break;
                case "dense":
                    token = i;
                    key = new byte[1 + (int) below(20)];
                    for (int j = 0; j < key.length; j++)
                        key[j] = (byte) next();
                    break;
                default:
                    token = below(4) << 56;
                    key = new byte[(int) below(40)];
                    for (int j = 0; j < key.length; j++)
                        key[j] = (byte) new int[]{ 0, 1, 0xff }[(int) below(3)];
            }
            keys.put(new BufferDecoratedKey(new Murmur3Partitioner.LongToken(token), ByteBuffer.wrap(key)), true);
        }
        Files.deleteIfExists(path);
        try (SequentialWriter writer = new SequentialWriter(new File(path));
             PartitionIndexBuilder builder = new PartitionIndexBuilder(writer, new FileHandle.Builder(new File(path))))
        {
            long position = 0;
            for (DecoratedKey key : keys.keySet())
            {
                position += below(pattern.equals("random") ? 1L << 32 : 1000);
                builder.addEntry(key, below(8) == 0 ? position : ~position);
            }
            builder.complete();
            writer.finish();
        }
        print("partitions", pattern, count);
    }

    static void rows(String pattern, int count) throws Exception
    {
        state = count;
        Version version = new BtiFormat(Map.of()).getVersion("da");
        AbstractType<?>[] types = pattern.equals("numbers") ? new AbstractType<?>[]{ LongType.instance }
                                : pattern.equals("texts") ? new AbstractType<?>[]{ UTF8Type.instance }
                                : new AbstractType<?>[]{ Int32Type.instance, ReversedType.getInstance(Int32Type.instance) };
        ClusteringComparator comparator = new ClusteringComparator(types);
        Files.deleteIfExists(path);
        try (SequentialWriter writer = new SequentialWriter(new File(path)); RowIndexWriter index = new RowIndexWriter(comparator, writer, version))
        {
            // Several partitions, so that tries begin anywhere in a page.
            for (int partition = 0; partition < 3; partition++)
            {
                long offset = 20, number = 0;
                for (int block = 0; block < count; block++)
                {
                    DeletionTime open = block > 0 && below(5) == 0 ? DeletionTime.build(below(1L << 50), 1_700_000_000L + below(1000)) : DeletionTime.LIVE;
                    number += 1 + below(1000);
                    Clustering<?> first = clustering(pattern, number);
                    number += 1 + below(1000);
                    Clustering<?> last = clustering(pattern, number);
                    index.add(first, last, new RowIndexReader.IndexInfo(offset, open));
                    offset += 16384 + below(100_000);
                }
                long root = index.complete(offset);
                index.reset();
                ByteBufferUtil.writeWithShortLength(ByteBufferUtil.bytes("key" + partition), writer);
                DeletionTime deletion = partition == 1 ? DeletionTime.build(123456789L, 1_700_000_000L) : DeletionTime.LIVE;
                TrieIndexEntry.create(partition * 1_000_000_007L, root, deletion, count).serialize(writer, writer.position(), version);
            }
            writer.finish();
        }
        print("rows", pattern, count);
    }

    static Clustering<?> clustering(String pattern, long number)
    {
        switch (pattern)
        {
            case "numbers":
                return Clustering.make(ByteBufferUtil.bytes(number));
            case "texts":
                return Clustering.make(ByteBufferUtil.bytes("a long text that all of them begin with, and in the end a number: " + String.format("%012d", number)));
            default:
                return Clustering.make(ByteBufferUtil.bytes((int) (number / 10_000)), ByteBufferUtil.bytes((int) -(number % 10_000)));
        }
    }

    static void print(String kind, String pattern, int count) throws Exception
    {
        byte[] bytes = Files.readAllBytes(path);
        CRC32 crc = new CRC32();
        crc.update(bytes);
        file.println(kind + " | " + pattern + " | " + count + " | " + bytes.length + " | " + String.format("%08x", crc.getValue()));
    }
}
