import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

@Suite struct DataResponseTests {
    private enum Failed: Error, Equatable {
        case first
        case second
    }

    private func response(
        _ result: Result<Int, Failed>, request: HTTPRequest? = nil, data: Data? = nil
    ) -> DataResponse<Int, Failed> {
        DataResponse(
            request: request,
            response: request.map {
                HTTPResponse(
                    url: $0.url, statusCode: 201, headers: ["Content-Type": "application/json"])
            },
            data: data, metrics: TransferMetrics(), serializationDuration: 2, result: result)
    }

    @Test func `values and errors are mapped, and the rest is kept`() {
        let good = response(.success(1))
        let bad = response(.failure(.first))
        #expect(good.map { "\($0)" }.value == "1")
        #expect(bad.map { "\($0)" }.error == .first)
        #expect(good.tryMap { $0 + 1 }.value == 2)
        #expect(good.tryMap { _ in throw Failed.second }.error as? Failed == .second)
        #expect(bad.mapError { _ in Failed.second }.error == .second)
        #expect(bad.tryMapError { _ in Failed.second }.error as? Failed == .second)
        #expect(bad.tryMapError { _ -> Failed in throw Failed.second }.error as? Failed == .second)
        #expect(good.map { $0 }.serializationDuration == 2)
    }

    @Test func `the description is the result, and the debug description has all sections`() {
        let without = response(.success(1))
        #expect(without.description == "success(1)")
        #expect(without.debugDescription == "[Request]: None\n[Result]: success(1)")
        let request = HTTPRequest(
            url: URL(string: "http://h.test/a"), method: .post, headers: ["B": "2", "a": "1"],
            body: .data(Data(count: 3)))
        let text = response(.success(1), request: request, data: Data("{}".utf8)).debugDescription
        #expect(
            text == """
                [Request]: POST http://h.test/a
                    [Headers]:
                        a: 1
                        B: 2
                    [Body]: 3 bytes
                [Response]:
                    [Status Code]: 201
                    [Headers]:
                        Content-Type: application/json
                    [Body]:
                        {}
                [Network Duration]: 0.0s
                [Serialization Duration]: 2.0s
                [Result]: success(1)
                """)
    }

    @Test func `missing values are printed as None, and a large body as its length`() {
        let request = HTTPRequest(url: URL(string: "http://h.test/a"))
        let text = DataResponse<Int, Failed>(
            request: request, response: nil, data: nil, metrics: nil, serializationDuration: 0,
            result: .success(1)
        ).debugDescription
        #expect(
            text == """
                [Request]: GET http://h.test/a
                    [Headers]: None
                    [Body]: None
                [Response]: None
                [Network Duration]: None
                [Serialization Duration]: 0.0s
                [Result]: success(1)
                """)
        let large = response(
            .success(1), request: request, data: Data(repeating: 0x61, count: 100_001))
        #expect(large.debugDescription.contains("    [Body]: 100001 bytes\n"))
    }

    @Test func `the debug description of a download has its file instead of a body`() {
        let response = DownloadResponse<Int, Failed>(
            request: HTTPRequest(url: URL(string: "http://h.test/a")),
            response: HTTPResponse(url: URL(string: "http://h.test/a"), statusCode: 200),
            fileURL: URL(filePath: "/tmp/file"), resumeData: Data(count: 7), metrics: nil,
            serializationDuration: 1, result: .success(1))
        #expect(
            response.debugDescription == """
                [Request]: GET http://h.test/a
                    [Headers]: None
                    [Body]: None
                [Response]:
                    [Status Code]: 200
                    [Headers]: None
                [File URL]: /tmp/file
                [Resume Data]: 7 bytes
                [Network Duration]: None
                [Serialization Duration]: 1.0s
                [Result]: success(1)
                """)
    }
}
