import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

private struct Value: Codable, Equatable, Sendable {
    let string: String
}

private struct Nothing: Decodable, EmptyResponse {
    static func emptyValue() -> Nothing { Nothing() }
}

@Suite struct SerializerTests {
    private struct Failed: Error {}

    private func response(_ code: Int, type: String? = nil) -> HTTPResponse {
        HTTPResponse(
            url: URL(string: "http://example.test/"), statusCode: code,
            headers: type.map { ["Content-Type": $0] } ?? [:])
    }

    private func request(_ method: HTTPMethod) -> HTTPRequest {
        HTTPRequest(url: URL(string: "http://example.test/"), method: method)
    }

    private func failure<Serializer: DataResponseSerializerProtocol>(
        _ serializer: Serializer, response: HTTPResponse? = nil, _ data: Data?
    ) -> SessionError? {
        #expect(throws: SessionError.self) {
            try serializer.serialize(request: nil, response: response, data: data, error: nil)
        }
    }

    @Test func `every serializer fails without a body`() {
        let serializers: [any ResponseSerializer] = [
            DataResponseSerializer(), StringResponseSerializer(), JSONResponseSerializer(),
            DecodableResponseSerializer<Value>(),
        ]
        for serializer in serializers {
            for (code, data) in [(nil, nil), (200, nil), (200, Data()), (nil, Data())] {
                let error = failure(serializer, response: code.map { response($0) }, data)
                guard case .responseSerializationFailed(.inputDataNilOrZeroLength)? = error else {
                    Issue.record("\(serializer): \(String(describing: error))")
                    continue
                }
            }
            // A previous error is thrown unchanged.
            #expect(throws: Failed.self) {
                _ = try serializer.serialize(
                    request: nil, response: nil, data: Data("1".utf8), error: Failed())
            }
        }
    }

    @Test(arguments: [204, 205])
    func `status 204 or 205, or a HEAD request, may have no body`(code: Int) throws {
        let empty = response(code)
        #expect(
            try DataResponseSerializer().serialize(
                request: nil, response: empty, data: nil, error: nil) == Data())
        #expect(
            try StringResponseSerializer().serialize(
                request: request(.head), response: response(200), data: Data(), error: nil) == "")
        #expect(
            try JSONResponseSerializer().serialize(
                request: nil, response: empty, data: nil, error: nil) == .null)
        #expect(
            try DecodableResponseSerializer<Empty>().serialize(
                request: nil, response: empty, data: nil, error: nil) == .value)
        _ = try DecodableResponseSerializer<Nothing>().serialize(
            request: nil, response: empty, data: nil, error: nil)
        guard
            case .responseSerializationFailed(.invalidEmptyResponse(let type))? = failure(
                DecodableResponseSerializer<Value>(), response: empty, nil)
        else {
            Issue.record("not refused")
            return
        }
        #expect(type == "Value")
    }

    @Test func `the codes and methods that may have no body can be set`() throws {
        let serializer = StringResponseSerializer(
            emptyResponseCodes: [200], emptyRequestMethods: [.post])
        #expect(
            try serializer.serialize(
                request: nil, response: response(200), data: nil, error: nil) == "")
        #expect(
            try serializer.serialize(
                request: request(.post), response: response(500), data: nil, error: nil) == "")
        #expect(
            failure(serializer, response: response(204), nil)?.isResponseSerializationError == true)
    }

    @Test func `a body of a 204 response is decoded`() throws {
        #expect(
            try DecodableResponseSerializer<Value>().serialize(
                request: nil, response: response(204), data: Data(#"{"string":"s"}"#.utf8),
                error: nil) == Value(string: "s"))
    }

    @Test(
        arguments: [
            (nil, "text/plain; charset=utf-8", Data("é".utf8), "é"),
            (nil, "image/jpeg; charset=UTF-8", Data("é".utf8), "é"),
            (nil, "text/plain; charset=\"utf-8\"", Data("é".utf8), "é"),
            (nil, "text/plain; charset=iso-8859-1", Data([0xE9]), "é"),
            (nil, "text/plain", Data([0xE9]), "é"), (nil, nil, Data([0xE9]), "é"),
            (String.Encoding.utf8, "text/plain; charset=iso-8859-1", Data("é".utf8), "é"),
            (nil, "text/plain; charset=utf-16be", Data([0, 0xE9]), "é"),
            (nil, "text/plain; charset=utf-16le", Data([0xE9, 0]), "é"),
        ] as [(String.Encoding?, String?, Data, String)])
    func `text has the given encoding, else that of the response, else Latin-1`(
        encoding: String.Encoding?, type: String?, data: Data, text: String
    ) throws {
        let serializer = StringResponseSerializer(encoding: encoding)
        #expect(
            try serializer.serialize(
                request: nil, response: response(200, type: type), data: data, error: nil) == text)
    }

    @Test func `the error for undecodable text has the encoding`() {
        let data = Data([0xFF, 0xFE, 0, 0, 0x72, 0, 0, 0])
        let asked = failure(StringResponseSerializer(encoding: .utf8), data)
        #expect(asked?.failedStringEncoding == .utf8)
        let told = failure(
            StringResponseSerializer(), response: response(200, type: "image/jpeg; charset=utf-8"),
            data)
        #expect(told?.failedStringEncoding == .utf8)
    }

    @Test(arguments: [
        "utf-16", "utf-16le", "utf-16be", "utf-32", "utf-32le", "utf-32be",
    ])
    func `text that ends within a unit of its encoding is an error`(charset: String) throws {
        let head = response(200, type: "text/plain; charset=\(charset)")
        let encoding = try #require(head.textEncoding)
        let whole = try #require("ab".data(using: encoding))
        let serializer = StringResponseSerializer()
        #expect(
            try serializer.serialize(request: nil, response: head, data: whole, error: nil) == "ab")
        for data in [whole.dropLast(), whole + [0]] {
            let error = failure(serializer, response: head, Data(data))
            #expect(error?.failedStringEncoding == encoding)
        }
    }

    @Test func `JSON is decoded, and invalid JSON is a syntax error`() throws {
        let serializer = JSONResponseSerializer()
        #expect(
            try serializer.serialize(
                request: nil, response: nil, data: Data(#"{"json": [true, null]}"#.utf8),
                error: nil) == ["json": [true, nil]])
        #expect(
            try serializer.serialize(
                request: nil, response: nil, data: Data("1".utf8), error: nil) == 1)
        let broken = failure(serializer, Data("definitely not JSON".utf8))
        #expect(broken?.underlyingError is JSONSyntaxError)
        let fragment = failure(JSONResponseSerializer(options: []), Data("1".utf8))
        #expect(fragment?.underlyingError is JSONResponseSerializer.FragmentError)
    }

    @Test func `a preprocessor gets each body that is not empty`() throws {
        struct Dropping: DataPreprocessor {
            func preprocess(_ data: Data) throws -> Data {
                guard !data.isEmpty else { throw SessionError.explicitlyCancelled }
                return data.dropFirst(4)
            }
        }
        #expect(
            try DecodableResponseSerializer<Value>(dataPreprocessor: Dropping()).serialize(
                request: nil, response: nil, data: Data(#"1234{"string":"s"}"#.utf8), error: nil)
                == Value(string: "s"))
        #expect(
            try StringResponseSerializer(dataPreprocessor: Dropping()).serialize(
                request: nil, response: response(204), data: Data(), error: nil) == "")
        let guarded = Data(")]}',\n[1]".utf8)
        #expect(
            try JSONResponseSerializer(dataPreprocessor: .googleXSSI).serialize(
                request: nil, response: nil, data: guarded, error: nil) == [1])
        #expect(
            try DataResponseSerializer(dataPreprocessor: .googleXSSI).serialize(
                request: nil, response: nil, data: Data("abc".utf8), error: nil
            ).count == 3)
    }

    @Test func `the error of a decoder is the reason`() {
        let error = failure(DecodableResponseSerializer<Value>(), Data("{}".utf8))
        guard case .responseSerializationFailed(.decodingFailed(let reason))? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason is DecodingError)
    }

    @Test func `property lists can be decoded with their decoder`() throws {
        let list = try PropertyListEncoder().encode(Value(string: "s"))
        #expect(
            try DecodableResponseSerializer<Value>(decoder: PropertyListDecoder()).serialize(
                request: nil, response: nil, data: list, error: nil) == Value(string: "s"))
    }

    @Test func `files are serialized like bodies`() throws {
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path).appending(path: "value.json")
        try Data(#"{"string":"s"}"#.utf8).write(to: file)
        #expect(
            try DecodableResponseSerializer<Value>().serializeDownload(
                request: nil, response: nil, fileURL: file, error: nil) == Value(string: "s"))
        #expect(
            try URLResponseSerializer().serializeDownload(
                request: nil, response: nil, fileURL: file, error: nil) == file)
        let none = #expect(throws: SessionError.self) {
            try DataResponseSerializer().serializeDownload(
                request: nil, response: nil, fileURL: nil, error: nil)
        }
        guard case .responseSerializationFailed(.inputFileNil)? = none else {
            Issue.record("\(String(describing: none))")
            return
        }
        let gone = #expect(throws: SessionError.self) {
            try StringResponseSerializer().serializeDownload(
                request: nil, response: nil, fileURL: file.appending(path: "gone"), error: nil)
        }
        guard case .responseSerializationFailed(.inputFileReadFailed(let url))? = gone else {
            Issue.record("\(String(describing: gone))")
            return
        }
        #expect(url == file.appending(path: "gone"))
        try Data().write(to: file)
        #expect(
            try DataResponseSerializer().serializeDownload(
                request: nil, response: response(204), fileURL: file, error: nil) == Data())
    }

    @Test func `a serializer's error is wrapped, unless it is a SessionError`() async {
        struct Failing: DataResponseSerializerProtocol {
            let error: any Error
            func serialize(
                request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
            ) throws -> Int { throw self.error }
        }
        let session = Session(transport: StubTransport { _ in .text("x") })
        let foreign = await session.request("http://example.test/")
            .serializingResponse(using: Failing(error: Failed())).response
        guard
            case .responseSerializationFailed(.customSerializationFailed(let error))? =
                foreign.error
        else {
            Issue.record("\(foreign)")
            return
        }
        #expect(error is Failed)
        let own = await session.request("http://example.test/")
            .serializingResponse(using: Failing(error: SessionError.explicitlyCancelled)).response
        #expect(own.error?.isExplicitlyCancelledError == true)
    }
}
