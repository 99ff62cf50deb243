import FoundationEssentials
import Outlet

/// A sample request of `outlet demo`.
struct DemoTarget: TargetType {
    /// The sample requests, in the order in which they are sent.
    enum Call: CaseIterable {
        case get, postJSON, unstable, teapot, delay, bytes, stream, redirect, basicAuth, gzip
    }

    let call: Call
    let baseURL: URL

    var path: String {
        switch call {
        case .get: "/get"
        case .postJSON: "/post"
        case .unstable: "/unstable/1"
        case .teapot: "/status/418"
        case .delay: "/delay/0.1"
        case .bytes: "/bytes/65536"
        case .stream: "/stream/5"
        case .redirect: "/redirect/2"
        case .basicAuth: "/basic-auth/ada/lovelace"
        case .gzip: "/gzip"
        }
    }

    var method: HTTPMethod { call == .postJSON ? .post : .get }

    var task: HTTPTask {
        switch call {
        case .postJSON: .requestJSONEncodable(["name": "Ada", "language": "Swift"])
        default: .requestPlain
        }
    }

    var headers: [String: String]? {
        guard call == .basicAuth else { return nil }
        return HTTPHeaders([.authorization(username: "ada", password: "lovelace")]).dictionary
    }

    /// Makes a status of 400 and above a failure, because retriers are only called for failures.
    var validationType: ValidationType { .successAndRedirectCodes }

    /// The expected status of the final response.
    var expectedStatus: Int { call == .teapot ? 418 : 200 }

    /// What the request demonstrates.
    var purpose: String {
        switch call {
        case .get: "a plain request"
        case .postJSON: "a value as JSON"
        case .unstable: "503 first, then it works"
        case .teapot: "a status that no retry helps"
        case .delay: "an answer that takes its time"
        case .bytes: "64 KiB of body"
        case .stream: "five lines, one by one"
        case .redirect: "two redirects to follow"
        case .basicAuth: "a credential"
        case .gzip: "a compressed body"
        }
    }
}
