import client.ApiClient;
import client.ApiException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;

/** Call calls every operation through a client that openapi-generator has made, and prints what it read, as JSON. */
public class Call {
  public static void main(String[] args) throws Exception {
    JsonNode request = new ObjectMapper().readTree(System.in);
    ApiClient client = new ApiClient();
    client.updateBaseUri(request.get("url").asText());
    String authorization = request.get("authorization").asText();
    client.setRequestInterceptor(builder -> builder.setHeader("Authorization", authorization));
    ObjectMapper json = client.getObjectMapper();
    for (JsonNode call : request.get("calls")) {
      String tag = call.get("tag").asText();
      Class<?> api = Class.forName("client.api." + tag.substring(0, 1).toUpperCase() + tag.substring(1) + "Api");
      Method method = Arrays.stream(api.getMethods())
          .filter(m -> m.getName().equals(call.get("operation").asText()))
          .min((a, b) -> a.getParameterCount() - b.getParameterCount()).orElseThrow();
      Object instance = api.getConstructor(ApiClient.class).newInstance(client);
      Object[] values = Arrays.stream(method.getParameters()).map(p -> argument(json, call, p)).toArray();
      System.out.println(json.writeValueAsString(method.invoke(instance, values)));
    }
  }

  /** argument is a parameter of the call, or its body. */
  static Object argument(ObjectMapper json, JsonNode call, Parameter p) {
    JsonNode value = call.get("params").get(p.getName());
    if (p.getName().equals("body") || p.getName().equalsIgnoreCase(call.path("takes").asText())) {
      value = call.get("body");
    }
    return json.convertValue(value, p.getType());
  }
}
