// Reads a URL for some seconds, over HTTP/2 and HTTP/1.1 of java.net.http: each over a client that
// keeps its connections, and over a new client each time.
//
// Arguments: URL, key, seconds; or --version, which ends at once.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.net.ssl.SSLContext;

public class Client {
    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            return;
        }
        String basic = Base64.getEncoder().encodeToString((args[1] + ":").getBytes());
        HttpRequest request = HttpRequest.newBuilder(URI.create(args[0]))
            .timeout(Duration.ofSeconds(10)).header("Authorization", "Basic " + basic).build();
        long half = Long.parseLong(args[2]) * 500;
        load(request, HttpClient.Version.HTTP_1_1, half);
        load(request, HttpClient.Version.HTTP_2, half);
    }

    static void load(HttpRequest request, HttpClient.Version version, long millis) throws Exception {
        HttpClient kept = HttpClient.newBuilder().version(version).build();
        List<String> failures = new ArrayList<>();
        Set<String> certificates = new HashSet<>();
        Set<String> ofKept = new HashSet<>();
        int requests = 0;
        long end = System.currentTimeMillis() + millis;
        while (System.currentTimeMillis() < end) {
            // One of its own: a TLS session that is taken up again shows the certificate of before.
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, null, null);
            HttpClient fresh =
                HttpClient.newBuilder().version(version).sslContext(context).build();
            for (HttpClient client : List.of(kept, fresh)) {
                requests += 1;
                try {
                    HttpResponse<Void> answer =
                        client.send(request, HttpResponse.BodyHandlers.discarding());
                    if (answer.statusCode() != 200 || answer.version() != version) {
                        failures.add(answer.statusCode() + " " + answer.version());
                    }
                    String serial = ((java.security.cert.X509Certificate) answer.sslSession()
                        .orElseThrow().getPeerCertificates()[0]).getSerialNumber().toString();
                    (client == kept ? ofKept : certificates).add(serial);
                } catch (java.io.IOException error) {
                    failures.add(error.toString());
                }
            }
            Thread.sleep(50);
        }
        String shown = failures.isEmpty() ? "" : '"' + failures.get(0).replace('"', '\'') + '"';
        // A connection that was made again would have another certificate.
        System.out.println("{\"protocol\": \"" + version + "\", \"requests\": " + requests
            + ", \"certificates\": " + certificates.size() + ", \"reconnects\": "
            + (ofKept.size() - 1) + ", \"failures\": [" + shown + "]}");
    }
}
