package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The table is read whole. It needs no server, so that it is also what is run when everything is fetched. */
class ConfigurationTest {
  @Test
  void everyVersionAndCompressionIsThere() throws IOException {
    List<Configuration> all = Configuration.all();
    for (int version = 3; version <= 5; version++) {
      int wanted = version;
      assertTrue(all.stream().anyMatch(configuration -> configuration.version() == wanted), "version " + version);
    }
    for (String compression : List.of("none", "lz4", "snappy")) {
      assertTrue(all.stream().anyMatch(line -> line.compression().equals(compression)), compression);
    }
  }
}
