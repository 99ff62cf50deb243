import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Requests to third-party servers: nginx, and httpbin under gunicorn.
@Suite struct RealPeerTests {
    @Test func `plain HTTP requests to nginx reuse the connection`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        for attempt in 0..<3 {
            let response = await session.request("\(nginx.baseURL())/small.txt")
                .validate().serializingString().response
            #expect(response.value == "small\n")
            #expect(response.metrics?.isReusedConnection == (attempt > 0))
        }
    }

    @Test func `40 simultaneous HTTP/2 requests to nginx share one connection`() async throws {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let session = Session(configuration: configuration)
        let url = "\(nginx.baseURL(.tls))/small.txt"
        let first = await session.request(url).serializingString().response
        #expect(first.value == "small\n")
        #expect(first.response?.httpVersion == "HTTP/2")
        let reused = await withTaskGroup(of: Bool?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    await session.request(url).serializingString().response.metrics?
                        .isReusedConnection
                }
            }
            return await group.reduce(into: 0) { $0 += $1 == true ? 1 : 0 }
        }
        #expect(reused == 40)
    }

    @Test func `a certificate of an untrusted authority is refused`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
            .serializingData().response
        #expect(response.error?.transferError?.code == .serverCertificateUntrusted)
        #expect(response.response == nil)
    }

    @Test func `a large file is received completely`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        let data = try await session.request("\(nginx.baseURL())/large.bin")
            .serializingData().value
        #expect(data.count == nginx.largeFileSize)
        for position in stride(from: 0, to: data.count, by: 1_000_003) {
            #expect(data[data.startIndex + position] == Nginx.largeFileByte(at: position))
        }
    }

    @Test func `httpbin returns the sent parameters and fields`() async throws {
        struct Echo: Decodable, Sendable {
            let json: [String: String]
            let headers: [String: String]
            let args: [String: String]
        }
        let httpbin = try await Httpbin.shared()
        let session = Session()
        let echo = try await session.request(
            "\(httpbin.baseURL)/post?page=2", method: .post, parameters: ["name": "Ada"],
            encoder: .json, headers: ["X-Kept-Case": "ä"]
        ).validate().serializingDecodable(Echo.self).value
        #expect(echo.json == ["name": "Ada"])
        #expect(echo.args == ["page": "2"])
        #expect(echo.headers["Content-Type"] == "application/json")
    }

    @Test func `httpbin reads names of forms that end with a backslash or contain quotes`()
        async throws
    {
        struct Echo: Decodable, Sendable {
            let form: [String: String]
            let files: [String: String]
        }
        let httpbin = try await Httpbin.shared()
        let form = MultipartFormData()
        form.append(Data("1".utf8), withName: #"a\"#)
        form.append(Data("2".utf8), withName: #"b\c"d"#)
        form.append(Data("3".utf8), withName: "e", fileName: #"f\"#, mimeType: "text/plain")
        form.append(
            Data("4".utf8), withName: #"g\"#, fileName: "; name=admin; x=", mimeType: "text/plain")
        let session = Session()
        let echo = try await session.upload(
            multipartFormData: form, to: "\(httpbin.baseURL)/post"
        ).validate().serializingDecodable(Echo.self).value
        #expect(echo.form == [#"a\"#: "1", #"b\c%22d"#: "2"])
        #expect(echo.files == ["e": "3", "g%5C": "4"])
    }

    @Test func `httpbin's redirects, compression and credentials work`() async throws {
        let httpbin = try await Httpbin.shared()
        let session = Session()
        let redirected = await session.request("\(httpbin.baseURL)/redirect/3")
            .validate().serializingData().response
        #expect(redirected.error == nil)
        #expect(redirected.metrics?.redirectCount == 3)
        let gzip = try await session.request("\(httpbin.baseURL)/gzip").serializingString().value
        #expect(gzip.contains("\"gzipped\""))
        for path in ["basic-auth/ada/pw", "digest-auth/auth/ada/pw"] {
            let answer = await session.request("\(httpbin.baseURL)/\(path)")
                .authenticate(username: "ada", password: "pw").serializingData().response
            #expect(answer.response?.statusCode == 200, "\(path)")
        }
    }

    @Test func `a delay of httpbin times out, and an error status fails validation`() async throws {
        let httpbin = try await Httpbin.shared()
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForRequest = 0.2
        let impatient = Session(configuration: configuration)
        let late = await impatient.request("\(httpbin.baseURL)/delay/5").serializingData().response
        #expect(late.error?.transferError?.code == .timedOut)
        let session = Session()
        let failed = await session.request("\(httpbin.baseURL)/status/503").validate()
            .serializingData().response
        #expect(failed.error?.responseCode == 503)
    }
}
