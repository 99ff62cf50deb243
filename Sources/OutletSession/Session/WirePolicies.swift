import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What a session adds to every hop of a request, and learns from every answer: cookies and HSTS.
final class WirePolicies: Sendable {
    private let cookies: CookieStorage?
    private let acceptsCookies: CookieAcceptPolicy
    private let sendsCookies: Bool
    private let hsts: HSTSStorage?
    private let verifiesCertificates: Bool

    /// `nil` when there is nothing to do: requests then pay one test a hop.
    init?(_ configuration: SessionConfiguration) {
        guard configuration.httpCookieStorage != nil || configuration.hsts != nil else {
            return nil
        }
        cookies = configuration.httpCookieStorage
        acceptsCookies = configuration.httpCookieAcceptPolicy
        sendsCookies = configuration.httpShouldSetCookies
        hsts = configuration.hsts
        verifiesCertificates = configuration.transport.verifiesCertificates
    }

    /// Whether a request may have to be changed at all; most sessions know no cookies and no hosts.
    var mayChangeRequests: Bool { hsts?.isEmpty == false || cookies?.isEmpty == false }

    /// Whether there is something to learn of an answer.
    func concerns(_ head: HTTPResponse) -> Bool {
        head.headers.containsAny(of: fields)
    }

    /// Not static, because each look at such a one asks whether it is made already.
    private let fields: FieldNames = ["Set-Cookie", "Strict-Transport-Security"]

    /// The request at the address that it has to go to; `nil` if that is its own.
    func upgraded(_ request: HTTPRequest) -> HTTPRequest? {
        guard let hsts, let url = request.url.flatMap(hsts.upgrade) else { return nil }
        var request = request
        request.url = url
        return request
    }

    /// The request with the cookies for its address, behind those that it brings itself.
    func withCookies(_ request: HTTPRequest) -> HTTPRequest {
        guard let cookies, sendsCookies, request.httpShouldHandleCookies, let url = request.url
        else { return request }
        let stored = cookies.cookies(for: url)
        guard !stored.isEmpty else { return request }
        let own = request.headers.value(for: "Cookie")
        let ownNames = (own ?? "").parts(separatedBy: ";").map(Self.name)
        let added = stored.filter { cookie in
            !ownNames.contains { $0.hasSameBytes(as: cookie.name) }
        }.map(\.pair)
        guard !added.isEmpty else { return request }
        var request = request
        // One field, whatever it is made of (RFC 6265 §5.4).
        request.headers.update(
            name: "Cookie", value: ((own.map { [$0] } ?? []) + added).joined(separator: "; "))
        return request
    }

    private static func name(_ pair: Substring) -> Substring {
        pair.cut(at: "=").map { $0.head.trimmingBlanks } ?? ""
    }

    /// Takes in what a server said, if it was verified.
    ///
    /// - Parameters:
    ///   - head: The answer's.
    ///   - request: What was sent.
    ///   - task: The transfer that brought the head.
    ///   - main: The first address of the request, before redirects.
    func learn(
        from head: HTTPResponse, to request: HTTPRequest, by task: any TransferTask,
        startedAt main: URL?
    ) {
        guard task.mayKeep(from: request.url, verifiesCertificates: verifiesCertificates) else {
            return
        }
        hsts?.learn(from: head.headers, of: request.url)
        guard let cookies, acceptsCookies != .never, request.httpShouldHandleCookies,
            let url = request.url
        else { return }
        cookies.setCookies(
            Cookie.cookies(withResponseHeaderFields: head.headers, for: url), for: url,
            policy: acceptsCookies, mainDocumentURL: main)
    }
}
