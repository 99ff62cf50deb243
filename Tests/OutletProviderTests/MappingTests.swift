import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import Testing

private struct Issue: Codable, Equatable {
    var title: String
    var rating: Double?
}

private struct Optionals: Decodable {
    var title: String?
}

/// Decoding the body of a response.
@Suite struct MappingTests {
    private func response(_ body: String) -> Response {
        Response(statusCode: 200, data: Data(body.utf8))
    }

    /// The name of the error's case.
    private func failure<Value>(_ body: () throws -> Value) -> String {
        do {
            return "\(try body())"
        } catch {
            return switch error as? ProviderError {
            case .jsonMapping: "json"
            case .stringMapping: "string"
            case .objectMapping: "object"
            default: "\(error)"
            }
        }
    }

    @Test func `mapJSON parses any JSON, and an empty body as null on request`() throws {
        #expect(try response(#"{"a":[1]}"#).mapJSON()["a"]?[0] == 1)
        #expect(try response("1").mapJSON() == 1)
        #expect(failure { try response("no").mapJSON() } == "json")
        #expect(failure { try response("").mapJSON() } == "json")
        #expect(try response("").mapJSON(failsOnEmptyData: false) == .null)
    }

    @Test func `mapString returns the whole body or the JSON string at a key path`() throws {
        let nested = response(#"{"words":{"to":{"live":"by"}},"number":1}"#)
        #expect(try nested.mapString(atKeyPath: "words.to.live") == "by")
        #expect(failure { try nested.mapString(atKeyPath: "words.to.die") } == "string")
        #expect(failure { try nested.mapString(atKeyPath: "number") } == "string")
        #expect(failure { try response("no JSON").mapString(atKeyPath: "a") } == "json")
        #expect(try response("no JSON").mapString() == "no JSON")
        let odd = Response(statusCode: 200, data: Data([0xFF]))
        #expect(failure { try odd.mapString() } == "string")
    }

    @Test func `map decodes the whole body or the JSON value at a key path`() throws {
        let issue = Issue(title: "Hello", rating: 0.5)
        #expect(
            try response(#"{"title":"Hello","rating":0.5}"#).map(Issue.self) == issue)
        let nested = response(
            #"{"user":{"issues":[{"title":"Hello","rating":0.5}]},"count":1,"is":true}"#)
        #expect(try nested.map([Issue].self, atKeyPath: "user.issues") == [issue])
        #expect(try nested.map(Int.self, atKeyPath: "count") == 1)
        #expect(try nested.map(Bool.self, atKeyPath: "is"))
        // A number is not a boolean, and a boolean is not a number.
        #expect(failure { try nested.map(Bool.self, atKeyPath: "count") } == "object")
        #expect(failure { try nested.map(Int.self, atKeyPath: "is") } == "object")
        #expect(failure { try nested.map(Int.self, atKeyPath: "nowhere") } == "json")
        #expect(failure { try response("{}").map(Issue.self) } == "object")
    }

    @Test func `map decodes an empty body as an empty object or a list of one on request`() throws {
        #expect(failure { try response("").map(Optionals.self) } == "object")
        #expect(
            try response("").map(Optionals.self, failsOnEmptyData: false).title == nil)
        #expect(
            try response("").map([Optionals].self, failsOnEmptyData: false).count == 1)
        #expect(failure { try response("").map(Issue.self, failsOnEmptyData: false) } == "object")
        #expect(
            try response(#"{"title":"whole"}"#)
                .map(Optionals.self, atKeyPath: "nowhere", failsOnEmptyData: false).title == "whole"
        )
    }
}
