import FoundationEssentials
import Glibc
import Outlet
import OutletTestSupport
import Testing

extension AloneTests {
    /// Kerberos tickets with a real KDC and a real web server, in separate processes: the
    /// environment contains the path of the tickets.
    @Suite(.timeLimit(.minutes(2))) struct NegotiateTests {
        private static let ticket = Credential(user: "", password: "", scheme: .negotiate)

        private static func session(storage: CredentialStorage? = nil) -> Session {
            var configuration = SessionConfiguration()
            configuration.proxy = .none
            configuration.urlCredentialStorage = storage
            return Session(configuration: configuration)
        }

        /// Starts a realm, and sets its tickets in the environment.
        private static func realm(hasTicket: Bool = true) async throws -> Kerberos {
            let kerberos = try await Kerberos.start()
            setenv("KRB5_CONFIG", kerberos.configurationPath, 1)
            setenv("KRB5CCNAME", hasTicket ? kerberos.ticketPath : "/nonexistent/tickets", 1)
            return kerberos
        }

        @Test(.enabled(if: Kerberos.isInstalled, "no KDC here: make setup installs one"))
        func `a Kerberos ticket authenticates a request with an own or stored credential`() async {
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
        func `a connection that a Kerberos ticket authenticates is not used without one`() async {
            await #expect(processExitsWith: .success) {
                let kerberos = try await NegotiateTests.realm()
                let session = NegotiateTests.session()
                func get(_ credential: Credential?) async -> DataResponse<String, SessionError> {
                    let request = session.request("\(kerberos.url)connection")
                    if let credential { request.authenticate(with: credential) }
                    return await request.serializingString().response
                }
                for _ in 0..<2 {
                    #expect(await get(NegotiateTests.ticket).value == "ada@OUTLET.TEST")
                    let known = await get(NegotiateTests.ticket)
                    #expect(known.value == "ada@OUTLET.TEST")
                    #expect(known.metrics?.isReusedConnection == true)
                    let unknown = await get(nil)
                    #expect(unknown.response?.statusCode == 401 && unknown.error == nil)
                    #expect(unknown.metrics?.isReusedConnection == false)
                }
                await kerberos.stop()
            }
        }

        @Test(.enabled(if: Kerberos.isInstalled, "no KDC here: make setup installs one"))
        func `the error without a Kerberos ticket contains the reason and the advice`() async {
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
        func `the error for an unreachable KDC contains the reason`() async {
            await #expect(processExitsWith: .success) {
                let kerberos = try await NegotiateTests.realm()
                let server = try ScriptedServer.start(
                    .request, .respond("401 No", headers: ["WWW-Authenticate: Negotiate"]), .again)
                await kerberos.stop()
                // The user's ticket exists, but no KDC issues a service ticket for this server.
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
