import FoundationEssentials
import Glibc
import Outlet
import OutletTestSupport
import Testing

extension AloneTests {
    /// Kerberos tickets before a real KDC and a real web server, in processes of their own: where the
    /// tickets are says the environment.
    @Suite(.timeLimit(.minutes(2))) struct NegotiateTests {
        private static let ticket = Credential(user: "", password: "", scheme: .negotiate)

        private static func session(storage: CredentialStorage? = nil) -> Session {
            var configuration = SessionConfiguration()
            configuration.proxy = .none
            configuration.urlCredentialStorage = storage
            return Session(configuration: configuration)
        }

        /// Makes a realm, and the process one of its user's.
        private static func realm(hasTicket: Bool = true) async throws -> Kerberos {
            let kerberos = try await Kerberos.start()
            setenv("KRB5_CONFIG", kerberos.configurationPath, 1)
            setenv("KRB5CCNAME", hasTicket ? kerberos.ticketPath : "/nonexistent/tickets", 1)
            return kerberos
        }

        @Test(.enabled(if: Kerberos.isInstalled, "no KDC here: make setup installs one"))
        func `a ticket lets a request in, its own or a stored one`() async {
            await #expect(processExitsWith: .success) {
                let kerberos = try await NegotiateTests.realm()
                let own = NegotiateTests.session()
                for _ in 0..<2 {
                    let response = await own.request(kerberos.url)
                        .authenticate(with: NegotiateTests.ticket).serializingString().response
                    #expect(response.value == "ada@OUTLET.TEST")
                    #expect(response.response?.statusCode == 200)
                }
                let storage = CredentialStorage()
                storage.set(
                    NegotiateTests.ticket,
                    for: ProtectionSpace(
                        host: "localhost", port: Int(kerberos.port), protocol: "http", realm: nil,
                        authenticationMethod: "negotiate"))
                let stored = NegotiateTests.session(storage: storage)
                for _ in 0..<2 {
                    let response = await stored.request(kerberos.url).serializingString().response
                    #expect(response.value == "ada@OUTLET.TEST")
                }
                let anonymous = NegotiateTests.session()
                let none = await anonymous.request(kerberos.url).serializingString().response
                #expect(none.response?.statusCode == 401 && none.error == nil)
                await kerberos.stop()
            }
        }

        @Test(.enabled(if: Kerberos.isInstalled, "no KDC here: make setup installs one"))
        func `without a ticket the error says so, and what to do`() async {
            await #expect(processExitsWith: .success) {
                let kerberos = try await NegotiateTests.realm(hasTicket: false)
                let session = NegotiateTests.session()
                let response = await session.request(kerberos.url)
                    .authenticate(with: NegotiateTests.ticket).serializingString().response
                let error = response.error?.transferError
                #expect(error?.code == .userAuthenticationRequired)
                #expect(error?.reason.hasPrefix("no Kerberos ticket for the server: ") == true)
                #expect(error?.advice.contains("kinit") == true)
                #expect(response.response?.statusCode == 401)
                await kerberos.stop()
            }
        }

        @Test(.enabled(if: Kerberos.isInstalled, "no KDC here: make setup installs one"))
        func `a KDC that is gone is the reason that is given`() async {
            await #expect(processExitsWith: .success) {
                let kerberos = try await NegotiateTests.realm()
                let server = try ScriptedServer.start(
                    .request, .respond("401 No", headers: ["WWW-Authenticate: Negotiate"]), .again)
                await kerberos.stop()
                // The user's ticket is there, but nobody is who makes one of it for this server.
                let session = NegotiateTests.session()
                let response = await session.request("http://localhost:\(server.port)/")
                    .authenticate(with: NegotiateTests.ticket).serializingString().response
                let error = response.error?.transferError
                #expect(error?.code == .userAuthenticationRequired)
                #expect(error?.reason.contains("Cannot contact any KDC") == true)
            }
        }
    }
}
