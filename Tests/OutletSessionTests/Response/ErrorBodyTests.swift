import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTesting
import Testing

@Suite struct ErrorBodyTests {
    private struct Problem: Decodable, Sendable, Equatable { let detail: String }

    @Test(arguments: [true, false])
    func `the body of a failure is decoded as the error type`(validates: Bool) async {
        let session = Session(
            transport: StubTransport { _ in .json(#"{"detail":"gone"}"#, statusCode: 410) })
        let request = session.request("http://h.test/")
        if validates { request.validate() }
        let response = await request.serializingResponse(
            using: .decodable(of: [Int].self, orError: Problem.self)
        ).response
        #expect(response.error?.errorBody(as: Problem.self) == Problem(detail: "gone"))
        #expect(response.error?.errorBody(as: String.self) == nil)
    }

    @Test(arguments: [true, false])
    func `a failure with another body keeps its error`(validates: Bool) async {
        let session = Session(transport: StubTransport { _ in .json("[1]", statusCode: 500) })
        let request = session.request("http://h.test/")
        if validates { request.validate() }
        let response = await request.serializingResponse(
            using: .decodable(of: [Int].self, orError: Problem.self)
        ).response
        #expect(response.error?.responseCode == 500)
    }

    @Test func `the body of a success is decoded as the value type`() async {
        let session = Session(transport: StubTransport { _ in .json("[1]") })
        let response = await session.request("http://h.test/").serializingResponse(
            using: .decodable(of: [Int].self, orError: Problem.self)
        ).response
        #expect(response.value == [1])
    }
}
