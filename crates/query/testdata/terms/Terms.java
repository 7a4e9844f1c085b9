// What Cassandra makes of terms: reads lines `type: term`, writes each with the value's bytes, `null`, or the error below it.
// java --add-exports java.base/sun.nio.ch=ALL-UNNAMED -cp 'LIB/*' Terms.java < terms.txt, with the jars of Cassandra 5.0.6.

import java.io.*;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.*;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.schema.*;
import org.apache.cassandra.utils.ByteBufferUtil;

public class Terms {
    public static void main(String[] arguments) throws Exception {
        DatabaseDescriptor.clientInitialization(false);
        DatabaseDescriptor.setPartitionerUnsafe(org.apache.cassandra.dht.Murmur3Partitioner.instance);
        KeyspaceMetadata keyspace = KeyspaceMetadata.create("ks", KeyspaceParams.simple(1));
        Schema.instance.transform(SchemaTransformations.addKeyspace(keyspace, true));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("= ") || line.startsWith("! ")) continue;
            out.println(line);
            int colon = line.indexOf(": ");
            if (line.isEmpty() || line.startsWith("#") || colon < 0) continue;
            out.println(answer(line.substring(0, colon), line.substring(colon + 2)));
        }
        System.exit(0);
    }

    static String answer(String type, String text) {
        try {
            CQL3Type.Raw raw = CQLFragmentParser.parseAny(CqlParser::comparatorType, type, "type");
            AbstractType<?> of = raw.prepare("ks").getType();
            Term.Raw term = CQLFragmentParser.parseAnyUnhandled(CqlParser::term, text);
            ColumnSpecification place = new ColumnSpecification("ks", "t", new ColumnIdentifier("c", true), of);
            ByteBuffer value = term.prepare("ks", place).bindAndGet(QueryOptions.DEFAULT);
            return value == null ? "= null" : "= 0x" + ByteBufferUtil.bytesToHex(value);
        } catch (org.apache.cassandra.exceptions.CassandraException error) {
            return "! " + error.getMessage();
        } catch (Throwable error) {
            return "! " + error;
        }
    }
}
