import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport

/// Each kind of request, with each kind of body.
struct Kinds {
    private let session: Session
    private let server: LoopbackServer
    private let directory: URL
    private var address: String { "\(server.baseURL)/anything" }

    /// The request as the server has received it.
    private struct Echo: Decodable, Sendable {
        let method: String
        let data: String
        let args: [String: String]
        let form: [String: String]
        let files: [String: String]
        let json: JSONValue?
    }

    private struct Pair: Codable, Sendable, Equatable {
        var a = "x"
        var b = 2
    }

    /// A wrong result of a request.
    private struct Fault: Error {
        let text: String
    }

    /// Sends all kinds of requests.
    ///
    /// - Parameter directory: A directory for the test's files.
    /// - Returns: Whether all requests succeeded.
    static func send(directory: String) async -> Bool {
        do {
            var configuration = SessionConfiguration()
            configuration.proxy = .none
            let kinds = try Kinds(
                session: Session(configuration: configuration), server: LoopbackServer.start(),
                directory: URL(filePath: directory))
            try Data("from a file".utf8).write(to: kinds.file)
            var isFine = true
            for (name, kind) in kinds.all {
                do {
                    try await kind()
                    print(name)
                } catch {
                    print("\(name): \(error)")
                    isFine = false
                }
            }
            return isFine
        } catch {
            print("\(error)")
            return false
        }
    }

    private var file: URL { directory.appending(path: "body.txt") }

    private var all: [(String, () async throws -> Void)] {
        [
            ("data", data), ("query", query), ("form", form), ("encodable form", encodableForm),
            ("json", json), ("encodable json", encodableJSON), ("property list", propertyList),
            ("multipart from data", multipartData), ("multipart from a file", multipartFile),
            ("multipart from a stream", multipartStream), ("multipart in memory", multipartMemory),
            ("upload of data", uploadData), ("upload of a file", uploadFile),
            ("upload of a stream", uploadStream), ("download", download), ("stream", stream),
            ("web socket", webSocket),
        ]
    }

    private func expect<Value: Equatable>(_ found: Value, _ wanted: Value) throws {
        guard found == wanted else { throw Fault(text: "\(found), not \(wanted)") }
    }

    private func echo(_ request: DataRequest) async throws -> Echo {
        try await request.validate().serializingDecodable(Echo.self).value
    }

    // MARK: Requests

    private func data() async throws {
        let bytes = try await session.request("\(server.baseURL)/bytes/1000").validate()
            .serializingData().value
        try expect(Array(bytes), LoopbackServer.bytes(1000))
    }

    private func query() async throws {
        let echo = try await echo(session.request(address, parameters: ["a": "x y"]))
        try expect(echo.args, ["a": "x y"])
    }

    private func form() async throws {
        let parameters: Parameters = ["a": "x", "b": 2, "c": true]
        let echo = try await echo(session.request(address, method: .post, parameters: parameters))
        try expect(echo.form, ["a": "x", "b": "2", "c": "1"])
    }

    private func encodableForm() async throws {
        let echo = try await echo(
            session.request(
                address, method: .post, parameters: Pair(),
                encoder: URLEncodedFormParameterEncoder.default))
        try expect(echo.form, ["a": "x", "b": "2"])
    }

    private func json() async throws {
        let parameters: Parameters = ["a": "x", "b": 2, "c": [true, 1.5] as [any Any & Sendable]]
        let echo = try await echo(
            session.request(
                address, method: .post, parameters: parameters, encoding: JSONEncoding.default))
        try expect(echo.json?["a"], "x")
        try expect(echo.json?["b"], 2)
        try expect(echo.json?["c"], [true, 1.5])
    }

    private func encodableJSON() async throws {
        let echo = try await echo(
            session.request(
                address, method: .post, parameters: Pair(), encoder: JSONParameterEncoder.default))
        try expect(echo.json?["a"], "x")
        try expect(echo.json?["b"], 2)
    }

    private func propertyList() async throws {
        let echo = try await echo(
            session.request(
                address, method: .post, parameters: ["a": 1], encoding: PropertyListEncoding.xml))
        try expect(echo.data.contains("<integer>1</integer>"), true)
    }

    // MARK: Bodies

    private func multipart(
        _ fill: @escaping @Sendable (MultipartFormData) -> Void
    ) async throws -> Echo {
        try await echo(session.upload(multipartFormData: fill, to: address))
    }

    private func multipartData() async throws {
        let echo = try await multipart { $0.append(Data("x".utf8), withName: "a") }
        try expect(echo.form, ["a": "x"])
    }

    private func multipartFile() async throws {
        let file = file
        let echo = try await multipart { $0.append(file, withName: "a") }
        try expect(echo.files, ["a": "from a file"])
    }

    private func multipartStream() async throws {
        let echo = try await multipart { form in
            form.append(
                Text("from a stream"), withLength: 13, name: "a", fileName: "s.txt",
                mimeType: "text/plain")
        }
        try expect(echo.files, ["a": "from a stream"])
    }

    private func multipartMemory() async throws {
        let form = MultipartFormData()
        form.append(file, withName: "a", fileName: "b", mimeType: "text/plain")
        try expect(form.contentLength, 11)
        let encoded = try form.encode()
        let copy = directory.appending(path: "encoded")
        try form.writeEncodedData(to: copy)
        try expect(try Data(contentsOf: copy), encoded)
    }

    private func uploadData() async throws {
        let echo = try await echo(session.upload(Data("from memory".utf8), to: address))
        try expect(echo.data, "from memory")
    }

    private func uploadFile() async throws {
        let echo = try await echo(session.upload(file, to: address, method: .put))
        try expect(echo.method + " " + echo.data, "PUT from a file")
    }

    private func uploadStream() async throws {
        let echo = try await echo(session.upload(Text("from a stream"), to: address))
        try expect(echo.data, "from a stream")
    }

    // MARK: Other kinds

    private func download() async throws {
        let destination = directory.appending(path: "downloaded")
        let url = try await session.download(
            "\(server.baseURL)/bytes/1000", to: { _, _ in (destination, []) }
        )
        .validate().serializingDownloadedFileURL().value
        try expect(url, destination)
        try expect(Array(try Data(contentsOf: url)), LoopbackServer.bytes(1000))
    }

    private func stream() async throws {
        var bytes = Data()
        for await stream in session.streamRequest("\(server.baseURL)/bytes/100000").validate()
            .streamTask().streamingData()
        {
            if let piece = stream.value { bytes += piece }
            if let error = stream.completion?.error { throw error }
        }
        try expect(Array(bytes), LoopbackServer.bytes(100_000))
    }

    private func webSocket() async throws {
        let server = try ScriptedServer.start(.upgrade(), .echo)
        defer { server.stop() }
        let task = session.webSocketRequest(to: "ws://127.0.0.1:\(server.port)").webSocketTask()
        try await task.send(.string("hello"))
        for try await message in task.messages() {
            try expect(message, .string("hello"))
            task.close(sending: .normalClosure)
        }
    }
}

/// A body stream over a text.
private final class Text: BodyStream, @unchecked Sendable {
    // because a transport never reads from two threads at once.
    private let bytes: [UInt8]
    private var position = 0
    let length: Int64? = nil

    init(_ text: String) { bytes = Array(text.utf8) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let piece = bytes[position...].prefix(buffer.count)
        buffer.copyBytes(from: piece)
        position += piece.count
        return piece.count
    }

    func rewind() { position = 0 }
}
