import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletProvider
import OutletObservation
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletCLI
@testable import OutletPluginHost
import OutletTransport

/// A request with a secret, which no output may contain.
struct SecretCase: Sendable, CustomTestStringConvertible {
    static let secret = "s3cret"
    /// A text that is not secret, which proves that an output contains the request.
    static let open = "sh0wn"

    var testDescription: String
    var address = "http://{host}/p?open=sh0wn"
    var fields: [(name: String, value: String)] = []
    var type = ""
    var body: [UInt8] = []

    /// Fields of requests and responses.
    static let fields: [SecretCase] = [
        ("Authorization", "Bearer s3cret"), ("AUTHORIZATION", "s3cret"),
        ("authorization", "Digest username=\"u\", response=\"s3cret\""),
        ("Cookie", "a=s3cret; b=\"s3cret\"; s3cret"),
        ("Set-Cookie", "a=s3cret; Path=/; s3cret"), ("Set-Cookie2", "a=s3cret"),
        ("X-Api-Key", "s3cret"), ("X-Goog-Api-Key", "s3cret"), ("X-Vault-Token", "s3cret"),
        ("X-Functions-Key", "s3cret"), ("X-Amz-Security-Token", "s3cret"),
        ("Private-Token", "s3cret"), ("X-CSRF-Token", "s3cret"), ("X-Session-Id", "s3cret"),
        ("X-Hub-Signature-256", "sha256=s3cret"), ("X-Auth", "s3cret"), ("DPoP", "s3cret"),
        ("Cf-Access-Jwt-Assertion", "s3cret"),
        ("Location", "https://u:s3cret@h/?open=sh0wn#access_token=s3cret"),
        ("Referer", "/p;jsessionid=s3cret?pwd=s3cret&open=sh0wn"),
        ("Link", "<https://h/?open=sh0wn&token=s3cret>; rel=next"),
        ("Refresh", "0; url=https://u:s3cret@h/"),
        ("X-Forwarded-Url", "https://h/?next=https%3A%2F%2Fu%3As3cret%40i%2F"),
        ("WWW-Authenticate", "Digest realm=\"sh0wn\", nonce=\"s3cret\", opaque=\"s3cret\""),
        ("WWW-Authenticate", "Negotiate s3cret=="),
        ("Authentication-Info", "nextnonce=\"s3cret\", rspauth=\"s3cret\""),
    ].map { name, value in
        SecretCase(testDescription: "\(name): \(value)", fields: [(name, value)])
    }

    /// URLs with secrets.
    static let addresses: [SecretCase] = [
        "http://u:s3cret@{host}/?open=sh0wn", "http://s3cret@{host}/?open=sh0wn",
        "http://u:s3%40cret:s3cret@{host}/?open=sh0wn", "http://{host}/?pwd=s3cret&open=sh0wn",
        "http://{host}/?%70assword=s3cret&open=sh0wn", "http://{host}/?open=sh0wn&my+key=s3cret",
        "http://{host}/?open=sh0wn;token=s3cret", "http://{host}/a;token=s3cret/b?open=sh0wn",
        "http://{host}/?open=sh0wn#access_token=s3cret", "http://{host}/?API-KEY=s3cret&open=sh0wn",
        "http://{host}/?open=sh0wn&next=http://u:s3cret@h/?sig=s3cret",
        "http://{host}/?open=sh0wn&next=http%3A%2F%2Fh%2F%3Fcode%3Ds3cret",
        "http://{host}/?X-Amz-Credential=s3cret&X-Amz-Signature=s3cret&open=sh0wn",
        "http://{host}/?sv=1&sig=s3cret&open=sh0wn",
        "http://{host}/?X-Goog-Signature=s3cret&open=sh0wn",
        "http://{host}/?open=sh0wn&next=http://u:s3cret@h/",
        "http://{host}/?open=sh0wn&http://u:s3cret@h/",
        "http://{host}/?open=sh0wn&next=//u:s3cret@h/",
        "http://{host}/?open=sh0wn&next=http:///u:s3cret@h/",
        "http://{host}/?open=sh0wn&next=http%3A%2F%2Fu%3As3cret%40h%2F",
        "http://{host}/http://u:s3cret@h/?open=sh0wn",
        "http://{host}/?user[password]=s3cret&open=sh0wn", "http://{host}/?open=sh0wn&sid=s3cret",
    ].map { SecretCase(testDescription: $0, address: $0) }

    /// Bodies of requests and responses.
    static let bodies: [SecretCase] =
        [
            (
                "application/json",
                #"{"open":"sh0wn","password":"s3cret","in":[{"accessToken":["s3cret"]}]}"#
            ),
            (
                "application/problem+json",
                #"{"open":"sh0wn","url":"http://u:s3cret@h/?token=s3cret"}"#
            ),
            ("application/json", #"{"open":"sh0wn","p\u0061ssword":"s3cret"#),
            ("application/x-ndjson", "{\"open\":\"sh0wn\"}\n{\"token\":\"s3cret\"}\n"),
            ("text/plain", #"{"open":"sh0wn","password":"s3cret"}"#),
            ("application/x-www-form-urlencoded", "open=sh0wn&client_secret=s3cret&p%77d=s3cret"),
            (
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=\"open\"\r\n\r\nsh0wn\r\n"
                    + "--x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cret\r\n--x--\r\n"
            ),
        ].map { type, text in
            SecretCase(
                testDescription: "\(type): \(text)", fields: [("Content-Type", type)], type: type,
                body: Array(text.utf8))
        } + [binary]

    /// A form with bytes that are not UTF-8, which outputs contain as Base64.
    static let binary = SecretCase(
        testDescription: "multipart with bytes",
        fields: [("Content-Type", "multipart/form-data; boundary=x")],
        type: "multipart/form-data; boundary=x",
        body: Array("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n".utf8) + [
            0xFF, 0, 0xFE,
        ]
            + Array(
                "\r\n--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\ns3cret\r\n--x--\r\n"
                    .utf8))

    static let all = fields + addresses + bodies

    func request(host: String = "h.test") -> HTTPRequest {
        var request = HTTPRequest(
            url: URL(string: address.replacing("{host}", with: host)), method: .post,
            headers: headers)
        if !body.isEmpty { request.body = .data(Data(body)) }
        return request
    }

    var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["X-Open": Self.open]
        for field in fields { headers.append(name: field.name, value: field.value) }
        return headers
    }

    /// Checks that an output, with its Base64 decoded, contains the open text and no secret.
    func expectHidden(in text: String, by sink: String) {
        let words = text.split {
            !$0.isASCII || !($0.isLetter || $0.isNumber || "+/=".contains($0))
        }
        let decoded = words.compactMap { Data(base64Encoded: String($0)) }
            .map { String(decoding: $0, as: UTF8.self) }
        let shown = ([text] + decoded).joined(separator: "\n")
        #expect(!shown.contains(Self.secret), "\(sink): \(text)")
        #expect(shown.contains(Self.open), "\(sink) shows nothing: \(text)")
    }
}

/// Every output with requests or responses is checked with the same table of secrets.
@Suite struct `Secrets in output` {
    private func answer(_ secret: SecretCase) -> StubAnswer {
        StubAnswer(statusCode: 200, headers: secret.headers, body: Data(secret.body))
    }

    @Test(arguments: SecretCase.all)
    func `archives, recordings, logs and cURL commands contain no secrets`(secret: SecretCase)
        async throws
    {
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path("a.har"))
        let recording = try RecordingTransport(
            wrapping: StubTransport(answers: [answer(secret)]), to: file)
        let archive = HARRecorder()
        let lines = Recorder<String>()
        let loggers = RequestLogger.Format.allCases.map {
            RequestLogger(to: LogSink { lines.record($0) }, level: .debug, format: $0)
        }
        let session = Session(transport: recording, eventMonitors: [archive] + loggers)
        let request = session.request(secret.request())
        let response = await request.serializingData().response
        try await recording.finish()
        for logger in loggers {
            await withCheckedContinuation { done in logger.queue.async { done.resume() } }
        }
        secret.expectHidden(in: try text(of: directory, "a.har"), by: "recording")
        try archive.write(to: file)
        secret.expectHidden(in: try text(of: directory, "a.har"), by: "archive")
        secret.expectHidden(
            in: lines.values.joined() + SecretCase.open, by: "log")
        secret.expectHidden(in: request.cURLDescription(), by: "cURL")
        secret.expectHidden(in: response.debugDescription, by: "response")
        secret.expectHidden(in: "\(request) \(SecretCase.open)", by: "request")
    }

    @Test(arguments: SecretCase.all)
    func `printed values contain no secrets`(secret: SecretCase) throws {
        let request = secret.request()
        let head = HTTPResponse(url: request.url, statusCode: 200, headers: secret.headers)
        let values: [Any] = [request, head, secret.headers, [request], [head: request]]
        for value in values {
            secret.expectHidden(in: "\(value) \(SecretCase.open)", by: "\(type(of: value))")
            secret.expectHidden(
                in: String(reflecting: value) + SecretCase.open, by: "\(type(of: value))")
        }
        let events: [Event] = [
            .didCreateURLRequest(request), .willRedirect(to: request, after: head),
            .didValidate(.init(request: request, response: head, result: .success(()))),
            .didAdaptInitialRequest(request, to: request),
        ]
        for event in events {
            secret.expectHidden(in: "\(event) \(SecretCase.open)", by: event.name)
            #expect("\(event)".hasPrefix("\(event.name): "))
        }
    }

    @Test(arguments: SecretCase.all)
    func `errors contain no secrets`(secret: SecretCase) async throws {
        let request = secret.request()
        let address = request.url?.absoluteString ?? ""
        let lost = TransferError(
            code: .networkConnectionLost, reason: "lost on the way to \(address)")
        let replay = ReplayTransport(HAR(log: HAR.Log()))
        let stubs = StubTransport(stubs: [
            Stub(RequestMatcher.get("/other").header("X-Api-Key", "s3cret"), .status(200))
        ])
        let transports: [any Transport] = [
            StubTransport(answers: [.failure(lost)]), replay, stubs,
        ]
        for transport in transports {
            let response = await Session(transport: transport).request(request)
                .serializingData().response
            let error = try #require(response.error)
            var report = Exchange.Failure(error, request: request).error.description
            report += "\(error) \(String(describing: error.transferError?.description))"
            report += "\(ProviderError.underlying(error, nil)) \(response.debugDescription)"
            secret.expectHidden(in: report + SecretCase.open, by: "\(type(of: transport))")
        }
    }

    @Test(arguments: SecretCase.all)
    func `the effects of a plugin contain no secrets`(secret: SecretCase) {
        let before = HTTPRequest(url: URL(string: "http://before.test/"))
        let effects = Effects.of(before, secret.request(), answer: nil).joined(separator: "\n")
        secret.expectHidden(in: effects, by: "effects")
    }

    @Test(arguments: SecretCase.all)
    func `lines of the network logger contain no secrets`(secret: SecretCase) {
        let lines = Recorder<String>()
        let plugin = NetworkLoggerPlugin(
            configuration: .init(
                output: { _, items in lines.record(items.joined()) }, logOptions: .verbose))
        let request = secret.request()
        plugin.willSend(Shown(request: request), target: Nothing())
        secret.expectHidden(in: lines.values.joined(), by: "sent")
        let head = HTTPResponse(url: request.url, statusCode: 200, headers: secret.headers)
        let response = OutletProvider.Response(
            statusCode: 200, data: Data(secret.body), request: request, response: head)
        plugin.didReceive(.success(response), target: Nothing())
        plugin.didReceive(.failure(.statusCode(response)), target: Nothing())
        secret.expectHidden(in: lines.values.joined(), by: "received")
    }

    @Test(arguments: ["1.1", "2"])
    func `the wire log, report and verbose output contain no secrets`(version: String) async throws
    {
        let nginx = try await Nginx.shared()
        let host = "localhost:\(nginx.port(.tls))"
        // All fields in one request, because in HTTP/2 names that differ only in case are equal.
        let fields = SecretCase.fields.flatMap(\.fields).map { "\($0.name):\($0.value)" }
        let bodies = SecretCase.bodies.dropLast().map(Optional.some)
        let runs =
            SecretCase.addresses.map { ($0.address, SecretCase?.none) }
            + bodies.map { ("https://{host}/upload?open=sh0wn", $0) }
        for (address, body) in runs {
            let address = address.replacing("{host}", with: host).replacing(
                "http://", with: "https://", maxReplacements: 1)
            for output in ["-v", "--json"] {
                var options = ["--http-version", version == "2" ? "auto" : version]
                options += ["--cacert", nginx.authority.certificatePath, output, "POST", address]
                if let body {
                    options += [
                        "Content-Type:\(body.type)", "--raw",
                        String(decoding: body.body, as: UTF8.self),
                    ]
                } else {
                    options += ["--raw", "x"] + fields
                }
                let result = try await Program.run(
                    Products.path("outlet"), options, environment: ["OUTLET_DEBUG": "1"])
                let secret = SecretCase(testDescription: address)
                #expect(result.errorOutput.contains(version == "2" ? "h2h3 [" : "HTTP/1.1 "))
                secret.expectHidden(in: result.errorOutput, by: "wire, \(options)")
                secret.expectHidden(in: result.output, by: "\(output), \(options)")
            }
        }
    }

    @Test func `archives and recordings are readable only by their owner`() async throws {
        let directory = try TemporaryDirectory()
        for name in ["new", "old", "link"] {
            let path = directory.path("\(name).har")
            if name != "new" {
                try directory.write("kept", to: "\(name).other")
                let other = directory.path("\(name).other")
                try #require((name == "old" ? link(other, path) : symlink(other, path)) == 0)
            }
            let recording = try RecordingTransport(
                wrapping: StubTransport(answers: [.text("x")]), to: URL(filePath: path))
            let session = Session(transport: recording)
            _ = await session.request("http://h.test/").serializingData().response
            withExtendedLifetime(session) {}
            try await recording.finish()
            #expect(permissions(path) == 0o600)
            #expect(try HAR(contentsOf: URL(filePath: path)).log.entries.count == 1)
            chmod(path, 0o644)
            try HAR(log: HAR.Log()).write(to: URL(filePath: path))
            #expect(permissions(path) == 0o600)
            // The other name of the same file keeps its content.
            if name != "new" { #expect(try text(of: directory, "\(name).other") == "kept") }
        }
        // Only a regular file is replaced.
        let pipe = URL(filePath: directory.path("pipe"))
        try #require(mkfifo(pipe.path, 0o600) == 0)
        #expect(throws: HARError.self) {
            try RecordingTransport(wrapping: StubTransport(answers: []), to: pipe)
        }
        #expect(throws: HARError.self) { try HAR(log: HAR.Log()).write(to: pipe) }
        var facts = stat()
        #expect(stat(pipe.path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFIFO)
    }

    private func permissions(_ path: String) -> mode_t? {
        var facts = stat()
        return lstat(path, &facts) == 0 ? facts.st_mode & ~S_IFMT : nil
    }

    private func text(of directory: TemporaryDirectory, _ name: String) throws -> String {
        String(decoding: try directory.read(name), as: UTF8.self)
    }
}

private struct Nothing: TargetType {
    var baseURL: URL { URL(filePath: "/") }
    var path: String { "" }
    var method: HTTPMethod { .get }
    var task: HTTPTask { .requestPlain }
    var headers: [String: String]? { nil }
}

private struct Shown: RequestType {
    let request: HTTPRequest?
    var sessionHeaders: [String: String] { [:] }
    func authenticate(username: String, password: String, persistence: Credential.Persistence)
        -> Shown
    { self }
    func authenticate(with credential: Credential) -> Shown { self }
}
