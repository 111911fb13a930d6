import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Calls the function of Verify.java with each case, and prints a line with its answer. */
public final class Run {
  public static void main(String[] args) throws Exception {
    BufferedReader cases = new BufferedReader(new InputStreamReader(System.in));
    for (String line = cases.readLine(); line != null; line = cases.readLine()) {
      String[] fields = line.split(",");
      byte[] body = Base64.getDecoder().decode(fields[4]);
      boolean verified =
          Verify.verify(text(fields[0]), text(fields[1]), text(fields[2]), text(fields[3]), body);
      System.out.println(verified ? "yes" : "no");
    }
  }

  /** Servers read headers as Latin-1. */
  private static String text(String field) {
    if (field.equals("-")) {
      return null;
    }
    return new String(Base64.getDecoder().decode(field), StandardCharsets.ISO_8859_1);
  }
}
