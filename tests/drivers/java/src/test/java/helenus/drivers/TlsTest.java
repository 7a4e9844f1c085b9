package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A session under TLS, with a certificate of the client, and one that is refused for the lack of it. */
class TlsTest {
  private static final char[] PASSWORD = "password".toCharArray();

  @TempDir Path folder;

  @Test
  void aClientWithACertificateIsServedAndOneWithoutIsNot() throws Exception {
    Node node = Node.startWithTls(folder);
    try {
      try (CqlSession session = node.connect(context(true))) {
        List<Row> rows = session.execute("SELECT ssl_enabled FROM system_views.clients").all();
        assertTrue(!rows.isEmpty() && rows.stream().allMatch(row -> row.getBoolean("ssl_enabled")));
      }
      assertThrows(AllNodesFailedException.class, () -> node.connect(context(false)).close());
    } finally {
      node.stop();
    }
  }

  private SSLContext context(boolean hasCertificate) throws Exception {
    KeyStore trusted = empty();
    trusted.setCertificateEntry("ca", certificate("ca.crt"));
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    KeyStore own = empty();
    if (hasCertificate) {
      own.setKeyEntry("client", key("client.key"), PASSWORD, new Certificate[] {certificate("client.crt")});
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  private static KeyStore empty() throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private Certificate certificate(String name) throws Exception {
    byte[] pem = Files.readAllBytes(folder.resolve(name));
    return CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(pem));
  }

  private PrivateKey key(String name) throws Exception {
    String text = Files.readString(folder.resolve(name)).replaceAll("-----.*-----", "").replaceAll("\\s", "");
    return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text)));
  }
}
