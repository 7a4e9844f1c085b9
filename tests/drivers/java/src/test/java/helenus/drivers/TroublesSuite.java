package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.internal.core.connection.ConstantReconnectionPolicy;
import com.datastax.oss.driver.internal.core.specex.ConstantSpeculativeExecutionPolicy;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * No idempotent request fails while nodes of a ring get into troubles. `python/troubles.py` runs the ring and says when a trouble begins. By its name it is no part of
 * a run of all tests, which has no ring.
 */
class TroublesSuite {
  private static final String CLIENT = "Java";
  private static final int WORKERS = 8;
  private static final int LANES = 16;

  /** Each worker writes and reads so often at most. */
  private static final long PERIOD_MILLIS = 80;

  private static final Duration SPECULATION = Duration.ofMillis(50);

  private final Seen seen = new Seen();
  private volatile boolean isOver;

  @Test
  void noIdempotentRequestFails() throws Exception {
    try (CqlSession session = connect();
        SocketChannel ring = SocketChannel.open(UnixDomainSocketAddress.of(Path.of(System.getenv("HELENUS_RING_COMMANDS"))))) {
      BufferedReader lines = new BufferedReader(Channels.newReader(ring, StandardCharsets.UTF_8));
      PrintWriter answers = new PrintWriter(Channels.newWriter(ring, StandardCharsets.UTF_8), true);
      List<Key> kept = new ArrayList<>();
      for (List<Key> of : workThroughTroubles(session, lines, answers)) {
        kept.addAll(of);
      }
      Set<Key> there = read(session);
      List<Key> lost = kept.stream().filter(key -> !there.contains(key)).toList();
      answers.println(lost.isEmpty() ? "kept " + kept.size() : "lost " + lost.size());
      assertEquals(List.of(), lost);
      assertEquals(List.of(), seen.wrong);
    }
  }

  private static CqlSession connect() {
    DriverConfigLoader options =
        DriverConfigLoader.programmaticBuilder()
            .withString(DefaultDriverOption.PROTOCOL_VERSION, "V4")
            .withString(DefaultDriverOption.REQUEST_CONSISTENCY, "QUORUM")
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
            .withBoolean(DefaultDriverOption.REQUEST_DEFAULT_IDEMPOTENCE, true)
            .withClass(DefaultDriverOption.SPECULATIVE_EXECUTION_POLICY_CLASS, ConstantSpeculativeExecutionPolicy.class)
            .withInt(DefaultDriverOption.SPECULATIVE_EXECUTION_MAX, 2)
            .withDuration(DefaultDriverOption.SPECULATIVE_EXECUTION_DELAY, SPECULATION)
            .withClass(DefaultDriverOption.RECONNECTION_POLICY_CLASS, ConstantReconnectionPolicy.class)
            .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(250))
            .withInt(DefaultDriverOption.NETTY_IO_SIZE, 2)
            .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
            .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0)
            .build();
    return CqlSession.builder()
        .addContactPoints(Ring.ofTheEnvironment().addresses)
        .withLocalDatacenter("datacenter1")
        .withConfigLoader(options)
        .build();
  }

  /** The rows that each worker has had acknowledged when the troubles end. */
  private List<List<Key>> workThroughTroubles(CqlSession session, BufferedReader lines, PrintWriter answers) throws Exception {
    PreparedStatement write = session.prepare("INSERT INTO troubles.kept (client, lane, number) VALUES (?, ?, ?)");
    PreparedStatement read = session.prepare("SELECT number FROM troubles.kept WHERE client = ? AND lane = ? AND number = ?");
    ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
    List<Future<List<Key>>> working = new ArrayList<>();
    answers.println("join " + CLIENT);
    try {
      String trouble = null;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String row = seen.turn();
        if (trouble == null) {
          for (int worker = 0; worker < WORKERS; worker++) {
            int number = worker;
            working.add(workers.submit(() -> work(session, number, write, read)));
          }
        } else {
          answers.println("row " + trouble + " " + row);
        }
        if (line.equals("end")) {
          break;
        }
        trouble = line.substring("begin ".length());
      }
    } finally {
      isOver = true;
      workers.shutdown();
    }
    List<List<Key>> kept = new ArrayList<>();
    for (Future<List<Key>> of : working) {
      kept.add(of.get());
    }
    return kept;
  }

  /** Writes rows and reads earlier ones until it is over. */
  private List<Key> work(CqlSession session, int worker, PreparedStatement write, PreparedStatement read) throws InterruptedException {
    List<Key> kept = new ArrayList<>();
    for (int number = 0; !isOver; number++) {
      long began = System.nanoTime();
      Key key = new Key(worker * LANES + number % LANES, number);
      if (ask(session, write, key) >= 0) {
        kept.add(key);
      }
      if (!kept.isEmpty()) {
        Key earlier = kept.get(number % kept.size());
        if (ask(session, read, earlier) == 0) {
          seen.complain(earlier + " was acknowledged and is not read");
        }
      }
      Thread.sleep(Math.max(0, PERIOD_MILLIS - (System.nanoTime() - began) / 1_000_000));
    }
    return kept;
  }

  /** The count of rows, or -1 where the request failed. */
  private int ask(CqlSession session, PreparedStatement statement, Key key) {
    long began = System.nanoTime();
    try {
      ResultSet rows = session.execute(statement.bind(CLIENT, key.lane, key.number));
      seen.note(began, null);
      return rows.getAvailableWithoutFetching();
    } catch (DriverException error) {
      seen.note(began, error);
      return -1;
    }
  }

  /** The rows that QUORUM reads. */
  private static Set<Key> read(CqlSession session) {
    PreparedStatement lane = session.prepare("SELECT number FROM troubles.kept WHERE client = ? AND lane = ?");
    Set<Key> there = new HashSet<>();
    for (int number = 0; number < WORKERS * LANES; number++) {
      for (Row row : session.execute(lane.bind(CLIENT, number))) {
        there.add(new Key(number, row.getInt(0)));
      }
    }
    return there;
  }

  /** A row. */
  private record Key(int lane, int number) {}

  /** What the workers saw since the last trouble began. */
  private static final class Seen {
    /** Of all troubles. */
    final List<String> wrong = new ArrayList<>();

    private int requests;
    private int failures;
    private long gap;
    private long slowest;
    private long last = System.nanoTime();

    synchronized void note(long began, DriverException error) {
      long now = System.nanoTime();
      requests++;
      slowest = Math.max(slowest, now - began);
      if (error != null) {
        failures++;
        wrong.add(error.toString());
        return;
      }
      gap = Math.max(gap, now - last);
      last = now;
    }

    synchronized void complain(String said) {
      wrong.add(said);
    }

    /** Ends one trouble's row, and begins another. */
    synchronized String turn() {
      long now = System.nanoTime();
      gap = Math.max(gap, now - last);
      String row = String.format(Locale.ROOT, "%d %d %.2f %.2f", requests, failures, gap / 1e6, slowest / 1e6);
      requests = failures = 0;
      gap = slowest = 0;
      last = now;
      return row;
    }
  }
}
