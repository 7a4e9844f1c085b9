package helenus.drivers;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;

/** A running server. The Python harness starts it, ends it and judges its log. */
final class Node {
  private static final long STOP_SECONDS_MAX = 30;

  private final Process process;
  private final InetSocketAddress address;

  private Node(Process process, InetSocketAddress address) {
    this.process = process;
    this.address = address;
  }

  static Node start(Configuration configuration) throws IOException {
    return start(List.of(configuration.reactor(), configuration.shards()));
  }

  /** A server that speaks TLS; the folder gets the certificates. */
  static Node startWithTls(Path folder) throws IOException {
    return start(List.of("uring", "2", folder.toString()));
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
    return new Node(process, address);
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
    return connect(
        options()
            .withString(DefaultDriverOption.PROTOCOL_VERSION, configuration.protocol())
            .withString(DefaultDriverOption.PROTOCOL_COMPRESSION, configuration.compression()));
  }

  /** A session that finds the version by itself, and reads the schema of every keyspace. */
  CqlSession connectAsItLikes() {
    return connect(options().withStringList(DefaultDriverOption.METADATA_SCHEMA_REFRESHED_KEYSPACES, List.of()));
  }

  /** A session under TLS. */
  CqlSession connect(SSLContext context) {
    return CqlSession.builder()
        .addContactPoint(address)
        .withLocalDatacenter("datacenter1")
        .withConfigLoader(options().build())
        .withSslContext(context)
        .build();
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
