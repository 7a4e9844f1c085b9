// Has the engine of Cassandra 3.11 write SSTables, without its server: that needs an older JVM than the tools and the other servers do.
//
// Arguments: a folder with a file of statements for each keyspace, `keyspace.txt`; a line is a timestamp, the time, and the statement with
// tabs between, `flush` or `compact`. The data lies in `cassandra.storagedir` afterwards.

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.CQLStatement;
import org.apache.cassandra.cql3.QueryOptions;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.ConsistencyLevel;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.db.SystemKeyspace;
import org.apache.cassandra.service.ClientState;
import org.apache.cassandra.service.QueryState;

public final class Legacy {
    public static void main(String[] arguments) throws Exception {
        DatabaseDescriptor.daemonInitialization();
        DatabaseDescriptor.createAllDirectories();
        Keyspace.setInitialized();
        SystemKeyspace.persistLocalMetadata();
        File[] files = new File(arguments[0]).listFiles((folder, name) -> name.endsWith(".txt"));
        Arrays.sort(files);
        for (File file : files) {
            write(file.getName().replace(".txt", ""), file);
        }
        System.out.println("written");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void write(String keyspace, File file) throws Exception {
        ClientState client = ClientState.forInternalCalls();
        QueryState state = new QueryState(client);
        run(state, 0, "CREATE KEYSPACE " + keyspace
                + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1} AND durable_writes = false");
        client.setKeyspace(keyspace);
        for (String line : Files.readAllLines(file.toPath())) {
            if (line.equals("flush")) {
                for (ColumnFamilyStore store : Keyspace.open(keyspace).getColumnFamilyStores()) {
                    store.forceBlockingFlush();
                }
                continue;
            }
            if (line.equals("compact")) {
                for (ColumnFamilyStore store : Keyspace.open(keyspace).getColumnFamilyStores()) {
                    store.forceMajorCompaction();
                }
                continue;
            }
            String[] parts = line.split("\t", 3);
            long timestamp = parts[0].isEmpty() ? 0 : Long.parseLong(parts[0]);
            String text = parts[2];
            if (!parts[1].isEmpty()) {
                text = untilTheSame(text, Long.parseLong(parts[1]));
            }
            try {
                run(state, timestamp, text);
            } catch (Exception refused) {
                throw new Exception(keyspace + ": " + text, refused);
            }
        }
    }

    // This version knows no other time than the clock's: what lives so many seconds from `now` on is given what remains of them.
    static String untilTheSame(String text, long now) {
        java.util.regex.Matcher matcher = java.util.regex.Pattern.compile("USING TTL (\\d+)").matcher(text);
        if (!matcher.find() || matcher.group(1).equals("0")) {
            return text;
        }
        long left = now + Long.parseLong(matcher.group(1)) - System.currentTimeMillis() / 1000;
        return matcher.replaceFirst("USING TTL " + Math.max(left, 1));
    }

    static void run(QueryState state, long timestamp, String text) {
        CQLStatement statement = QueryProcessor.getStatement(text, state.getClientState()).statement;
        QueryOptions options =
                QueryOptions.forInternalCalls(ConsistencyLevel.ONE, Collections.<ByteBuffer>emptyList());
        QueryState stamped = timestamp == 0 ? state : new QueryState(state.getClientState()) {
            @Override
            public long getTimestamp() {
                return timestamp;
            }
        };
        statement.executeInternal(stamped, options);
    }
}
