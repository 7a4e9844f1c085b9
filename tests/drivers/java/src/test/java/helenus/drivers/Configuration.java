package helenus.drivers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A server and how the driver talks to it: a line of the table that all suites read. */
record Configuration(String reactor, String shards, String protocol, String compression) {
  static final Path SUITES = Path.of("..").toAbsolutePath().normalize();

  /** Those that `cargo xtask drivers` has chosen for this run, or all. */
  static List<Configuration> chosen() throws IOException {
    String table = System.getenv("HELENUS_CONFIGURATIONS_FILE");
    return table == null ? all() : read(Path.of(table));
  }

  static List<Configuration> all() throws IOException {
    return read(SUITES.resolve("configurations.txt"));
  }

  private static List<Configuration> read(Path table) throws IOException {
    return Files.readAllLines(table).stream()
        .filter(line -> line.startsWith("full "))
        .map(line -> line.split(" +"))
        .map(words -> new Configuration(words[1], words[2], "V" + words[3], words[4]))
        .toList();
  }

  int version() {
    return Integer.parseInt(protocol.substring(1));
  }
}
