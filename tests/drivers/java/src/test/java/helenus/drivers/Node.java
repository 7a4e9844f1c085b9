package helenus.drivers;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.xerial.snappy.Snappy;

/** A running server. The Python harness starts it, ends it and judges its log. */
final class Node {
  private static final long STOP_SECONDS_MAX = 30;

  private final Process process;
  private final BufferedReader said;
  private final InetSocketAddress address;

  private Node(Process process, BufferedReader said, InetSocketAddress address) {
    this.process = process;
    this.said = said;
    this.address = address;
  }

  static Node start(Configuration configuration) throws IOException {
    return start(List.of(configuration.reactor(), configuration.shards()));
  }

  /** A server that speaks TLS; the folder gets the certificates. */
  static Node startWithTls(Path folder) throws IOException {
    return start(List.of("uring", "2", folder.toString()));
  }

  /** A server that speaks TLS, whose clients log in by this authenticator; the folder gets the certificates. */
  static Node startWithTls(Path folder, String reactor, String authenticator) throws IOException {
    return start(List.of(reactor, "2", folder.toString(), authenticator));
  }

  /** A server whose clients log in. */
  static Node startWithPasswords() throws IOException {
    return start(List.of("uring", "2", "passwords"));
  }

  private static Node start(List<String> arguments) throws IOException {
    String program = Configuration.SUITES.resolve("python/server.py").toString();
    List<String> command = Stream.concat(Stream.of("python3", program), arguments.stream()).toList();
    Process process =
        new ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader said = new BufferedReader(new InputStreamReader(process.getInputStream()));
    String line = said.readLine();
    if (line == null) {
      throw new IOException("the server did not start; its words are above");
    }
    int colon = line.lastIndexOf(':');
    InetSocketAddress address =
        new InetSocketAddress(line.substring(0, colon), Integer.parseInt(line.substring(colon + 1)));
    return new Node(process, said, address);
  }

  /** Runs a statement of the owner of the server's process. */
  void asOwner(String statement) throws IOException {
    process.getOutputStream().write((statement + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
    String answer = said.readLine();
    if (!"done".equals(answer)) {
      throw new AssertionError(statement + ": " + answer);
    }
  }

  /** Ends the server, which must end well and have nothing to complain of. */
  void stop() throws IOException, InterruptedException {
    process.getOutputStream().close();
    if (!process.waitFor(STOP_SECONDS_MAX, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new AssertionError("the server did not end");
    }
    if (process.exitValue() != 0) {
      throw new AssertionError("the server ended badly; its words are above");
    }
  }

  /** A session with that protocol and compression. */
  CqlSession connect(Configuration configuration) {
    if (configuration.compression().equals("snappy")) {
      // The driver takes a library that does not load for one that is not there; here it says why.
      Snappy.getNativeLibraryVersion();
    }
    return connect(
        options()
            .withString(DefaultDriverOption.PROTOCOL_VERSION, configuration.protocol())
            .withString(DefaultDriverOption.PROTOCOL_COMPRESSION, configuration.compression()));
  }

  /** A session that finds the version by itself, and reads the schema of every keyspace. */
  CqlSession connectAsItLikes() {
    return connect(options().withStringList(DefaultDriverOption.METADATA_SCHEMA_REFRESHED_KEYSPACES, List.of()));
  }

  /** A session by these lines of a configuration file. */
  CqlSession connectConfigured(String lines) {
    return configured(lines).build();
  }

  /** The same, with a name and a password. */
  CqlSession connectConfigured(String lines, String name, String password) {
    return configured(lines).withAuthCredentials(name, password).build();
  }

  private CqlSessionBuilder configured(String lines) {
    // The first has a say in what it sets or has defaults of, which the lines are no part of.
    DriverConfigLoader loader = DriverConfigLoader.compose(options().build(), DriverConfigLoader.fromString(lines));
    return CqlSession.builder()
        .addContactPoint(address)
        .withLocalDatacenter("datacenter1")
        .withConfigLoader(loader);
  }

  /** A session with a name and a password. */
  CqlSession connect(String name, String password) {
    return CqlSession.builder()
        .addContactPoint(address)
        .withLocalDatacenter("datacenter1")
        .withConfigLoader(options().build())
        .withAuthCredentials(name, password)
        .build();
  }

  private CqlSession connect(ProgrammaticDriverConfigLoaderBuilder options) {
    return CqlSession.builder()
        .addContactPoint(address)
        .withLocalDatacenter("datacenter1")
        .withConfigLoader(options.build())
        .build();
  }

  /** The driver gathers schema changes for a second, and its end waits for two: neither is what is tested. */
  private static ProgrammaticDriverConfigLoaderBuilder options() {
    return DriverConfigLoader.programmaticBuilder()
        .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
        .withDuration(DefaultDriverOption.METADATA_SCHEMA_WINDOW, Duration.ofMillis(1))
        .withDuration(DefaultDriverOption.CONTROL_CONNECTION_AGREEMENT_INTERVAL, Duration.ofMillis(10))
        .withInt(DefaultDriverOption.NETTY_IO_SIZE, 2)
        .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
        .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0);
  }
}
