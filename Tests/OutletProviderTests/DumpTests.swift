import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import Testing

/// Readers of mirrors, such as `dump`, get no secrets that descriptions hide.
@Suite struct DumpTests {
    private func text(_ value: Any) -> String {
        var text = "\(value)\(String(reflecting: value))"
        dump([value], to: &text)
        return text
    }

    private static let tasks: [HTTPTask] = [
        .requestData(Data("s3cret".utf8)), .requestJSONEncodable(["password": "s3cret"]),
        .requestParameters(parameters: ["password": "s3cret"], encoding: URLEncoding.default),
        .requestCompositeData(bodyData: Data(), urlParameters: ["token": "s3cret"]),
    ]

    @Test(arguments: tasks.indices)
    func `the dump of a task or an endpoint has no parameters and secrets`(index: Int) {
        let task = Self.tasks[index]
        #expect(!text(task).contains("s3cret"), "\(text(task))")
        #expect(text(task).contains("request"))
        let endpoint = Endpoint(
            url: "http://u:s3cret@a.test/?token=s3cret&q=1",
            sampleResponseClosure: { .networkResponse(200, Data()) }, method: .post, task: task,
            httpHeaderFields: ["Authorization": "Bearer s3cret", "A": "b"])
        #expect(!text(endpoint).contains("s3cret"), "\(text(endpoint))")
        #expect(text(endpoint).contains("q=1") && text(endpoint).contains("A: b"))
    }

    @Test func `the dump of an error is its description`() {
        let error = ProviderError.requestMapping("u:s3cret@a.test/?token=s3cret")
        #expect(!text(error).contains("s3cret"), "\(text(error))")
        #expect(text(error).contains(error.description))
    }
}
