package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Sessions under TLS, with a certificate of the client or without, and logins by certificate. */
class TlsTest {
  private static final String IDENTITY = "spiffe://example.com/client";
  private static final String SECTION = "datastax-java-driver.advanced.ssl-engine-factory";

  @TempDir Path folder;

  @Test
  void aClientWithACertificateIsServedAndOneWithoutIsNot() throws Exception {
    Node node = Node.startWithTls(folder);
    try {
      try (CqlSession session = node.connectConfigured(certified())) {
        List<Row> rows = session.execute("SELECT ssl_enabled FROM system_views.clients").all();
        assertTrue(!rows.isEmpty() && rows.stream().allMatch(row -> row.getBoolean("ssl_enabled")));
      }
      assertThrows(AllNodesFailedException.class, () -> node.connectConfigured(uncertified()).close());
    } finally {
      node.stop();
    }
  }

  @Test
  void aClientLogsInByItsCertificateWhileItsIdentityHasARole() throws Exception {
    Node node = Node.startWithTls(folder, "uring", "MutualTlsAuthenticator");
    try {
      String certified = certified();
      refuses(
          "Certificate identity '" + IDENTITY + "' not authorized", () -> node.connectConfigured(certified).close());
      node.asOwner("CREATE ROLE client WITH LOGIN = true AND SUPERUSER = true");
      node.asOwner("ADD IDENTITY '" + IDENTITY + "' TO ROLE 'client'");
      try (CqlSession session = node.connectConfigured(certified)) {
        List<Row> rows = session.execute("SELECT username FROM system_views.clients").all();
        assertTrue(rows.stream().anyMatch(row -> "client".equals(row.getString("username"))));
        // It has an answer, and is not asked.
        node.connectConfigured(certified, "any", "any").close();
        node.asOwner("DROP IDENTITY '" + IDENTITY + "'");
        refuses("not authorized", () -> node.connectConfigured(certified).close());
        // A live session goes on.
        assertEquals(1, session.execute("SELECT cluster_name FROM system.local").all().size());
      }
    } finally {
      node.stop();
    }
  }

  @Test
  void aClientWithoutACertificateFallsBackToItsPassword() throws Exception {
    Node node = Node.startWithTls(folder, "epoll", "MutualTlsWithPasswordFallbackAuthenticator");
    try {
      String certified = certified();
      String uncertified = uncertified();
      node.asOwner("CREATE ROLE client WITH LOGIN = true AND PASSWORD = 'secret'");
      node.connectConfigured(uncertified, "client", "secret").close();
      refuses("not authorized", () -> node.connectConfigured(certified, "client", "secret").close());
      refuses("requires authentication", () -> node.connectConfigured(uncertified).close());
    } finally {
      node.stop();
    }
  }

  private static void refuses(String words, Executable connecting) {
    AllNodesFailedException refused = assertThrows(AllNodesFailedException.class, connecting);
    assertTrue(refused.getAllErrors().toString().contains(words), refused.getAllErrors().toString());
  }

  /** The lines of docs/guide/security.md, and the keystores that it makes. */
  private String certified() throws IOException, InterruptedException {
    run(
        "openssl", "pkcs12", "-export", "-in", "client.crt", "-inkey", "client.key",
        "-passout", "pass:a password", "-out", "client.p12");
    return uncertified() + lines("keystore", "client.p12");
  }

  private String uncertified() throws IOException, InterruptedException {
    if (Files.notExists(folder.resolve("ca.p12"))) {
      run(
          "keytool", "-importcert", "-noprompt", "-file", "ca.crt", "-storetype", "PKCS12",
          "-storepass", "a password", "-keystore", "ca.p12");
    }
    return SECTION + ".class = DefaultSslEngineFactory\n" + lines("truststore", "ca.p12");
  }

  private String lines(String store, String file) {
    return String.format(
        "%s.%s-path = \"%s\"\n%s.%s-password = \"a password\"\n", SECTION, store, folder.resolve(file), SECTION, store);
  }

  private void run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), said);
  }
}
