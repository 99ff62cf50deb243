import OutletTestSupport
import Testing

/// The sample `RequestID`, called by the fake host in C.
@Suite(.timeLimit(.minutes(2 * patience))) struct RequestIDTests {
    @Test func `an id that is too long fails the request`() async throws {
        let output = try await SamplePlugin.run(
            """
            #include "request_id.c"
            #include "../../PluginsSDK/C/testing/outlet_fake_host.c"
            #include <stdio.h>
            int main(void) {
                outlet_fake_host *fake = outlet_fake_new();
                outlet_fake_set(fake, "prefix", "p-");
                outlet_instance *plugin = outlet_fake_create(fake, &descriptor);
                for (int length = 510; length <= 511; length++) {
                    char id[512] = "";
                    const outlet_completion completion = outlet_fake_completion(fake);
                    const outlet_request request = outlet_fake_request(fake, "GET", "http://a.test/");
                    memset(id, 'x', (size_t)length);
                    outlet_fake_set_attr(fake, request, "request.id", id);
                    const int status =
                        prepare(plugin, outlet_fake_call(fake), request, completion);
                    const char *value = outlet_fake_header(fake, request, "X-Request-ID");
                    printf("%d %d %s\\n", status, value == NULL ? -1 : (int)strlen(value),
                           outlet_fake_failure(fake));
                }
                destroy(plugin);
                outlet_fake_free(fake);
            }
            """, including: "RequestID", flags: ["-pthread"])
        #expect(output == "0 512 \n-1 -1 bad-id: the id is empty or too long\n")
    }
}
