import FoundationEssentials
import OutletPluginKit
import Synchronization

/// An access token.
struct AccessToken: Sendable {
    /// The token as it is sent.
    let value: String
    /// The number of the token, from 1.
    let number: Int
    /// When it is to be replaced; `nil` if it does not expire.
    let refreshes: ContinuousClock.Instant?
    /// When it expires; `nil` if it does not.
    let expires: ContinuousClock.Instant?
}

/// Stores the current token, and fetches another one when it is needed.
///
/// Requests that need a token at the same time wait for the same fetch. Cancelling one of them does
/// not cancel the fetch.
///
/// Thread: any.
final class TokenStore: Sendable {
    private struct State {
        var token: AccessToken?
        var fetch: Fetch?
        var count = 0
        var refreshToken: String?
    }

    /// Whether a token has to be fetched before a request is sent.
    private enum Need {
        case nothing(AccessToken)
        case wait(Fetch)
        case begin(Fetch)
    }

    private let settings: Settings
    private let host: Host
    private let state: Mutex<State>

    init(settings: Settings, host: Host) {
        self.settings = settings
        self.host = host
        state = Mutex(State(refreshToken: settings.refreshToken))
    }

    /// Returns the token to send; waits for it if it has to be fetched.
    ///
    /// - Throws: `PluginError` if no token could be fetched; `CancellationError` if the task is
    ///   cancelled.
    func token() async throws -> AccessToken {
        let now = ContinuousClock.now
        let need = state.withLock { state -> Need in
            if let token = state.token, token.refreshes.map({ now < $0 }) ?? true {
                return .nothing(token)
            }
            if let fetch = state.fetch { return .wait(fetch) }
            let fetch = Fetch()
            state.fetch = fetch
            return .begin(fetch)
        }
        switch need {
        case .nothing(let token): return token
        case .wait(let fetch): return try await fetch.outcome().get()
        case .begin(let fetch):
            // Starts at once, so that the token request is sent while the hook of its call is still
            // running.
            Task.immediate { await self.run(fetch) }
            return try await fetch.outcome().get()
        }
    }

    /// Marks a token as invalid, if it is still the current one.
    func invalidate(_ number: Int) {
        state.withLock { state in
            if state.token?.number == number { state.token = nil }
        }
    }

    private func run(_ fetch: Fetch) async {
        let refreshToken = state.withLock { $0.refreshToken }
        let reply: Result<TokenReply, PluginError>
        do throws(PluginError) {
            reply = .success(try TokenReply(try await answer(to: call(refreshToken))))
        } catch {
            reply = .failure(error)
        }
        let now = ContinuousClock.now
        let outcome = state.withLock { state -> Fetch.Outcome in
            state.fetch = nil
            switch reply {
            case .success(let reply):
                state.count += 1
                // A token with a short lifetime is used for half of it.
                let life = reply.lifetime
                let token = AccessToken(
                    value: reply.token, number: state.count,
                    refreshes: life.map { now + max($0 - settings.refreshBefore, $0 / 2) },
                    expires: life.map { now + $0 })
                state.token = token
                if let next = reply.refreshToken { state.refreshToken = next }
                return .success(token)
            case .failure(let error):
                // The old token, which was to be replaced but has not expired.
                if let token = state.token, token.expires.map({ now < $0 }) ?? true {
                    return .success(token)
                }
                return .failure(error)
            }
        }
        fetch.end(outcome)
    }

    private func answer(to call: HTTPCall) async throws(PluginError) -> HTTPReply {
        do throws(PluginError) {
            return try await host.send(call)
        } catch {
            throw PluginError(
                "the token server sent no response: \(error.message)", code: error.code)
        }
    }

    private func call(_ refreshToken: String?) -> HTTPCall {
        var fields = [("grant_type", settings.grant.rawValue)]
        if settings.grant == .refreshToken, let refreshToken {
            fields.append(("refresh_token", refreshToken))
        }
        if let scope = settings.scope { fields.append(("scope", scope)) }
        var headers: [(name: String, value: String)] = [
            ("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json"),
            ("Cache-Control", "no-store"),
        ]
        if settings.authentication == .basic, let secret = settings.clientSecret {
            let pair = "\(settings.clientID.formEncoded):\(secret.formEncoded)"
            headers.append(("Authorization", "Basic \(Data(pair.utf8).base64EncodedString())"))
        } else {
            fields.append(("client_id", settings.clientID))
            if let secret = settings.clientSecret { fields.append(("client_secret", secret)) }
        }
        let body = fields.map { "\($0.0)=\($0.1.formEncoded)" }.joined(separator: "&")
        var call = HTTPCall(
            "POST", settings.tokenURL, headers: headers, body: Array(body.utf8),
            timeout: settings.timeout)
        // The request contains a secret, which must not be sent to another server.
        call.followsRedirects = false
        return call
    }
}

/// An active fetch, and the continuations that wait for it.
private final class Fetch: Sendable {
    typealias Outcome = Result<AccessToken, any Error>

    private struct State {
        var outcome: Outcome?
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]
        var cancelled: Set<Int> = []
        var count = 0
    }

    private let state = Mutex(State())

    /// The outcome; `CancellationError` if the waiting task is cancelled.
    func outcome() async -> Outcome {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Outcome? in
                    if state.cancelled.contains(number) { return .failure(CancellationError()) }
                    if state.outcome == nil { state.waiters[number] = continuation }
                    return state.outcome
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.cancelled.insert(number)
                return state.waiters.removeValue(forKey: number)
            }
            waiter?.resume(returning: .failure(CancellationError()))
        }
    }

    func end(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}

/// The response of a token endpoint (RFC 6749 §5).
private struct TokenReply {
    let token: String
    let lifetime: Duration?
    let refreshToken: String?

    private static let sizeLimit = 1 << 20
    private static let tokenLimit = 16_384

    private struct Success: Decodable {
        let access_token: String
        let token_type: String
        let expires_in: Double?
        let refresh_token: String?
    }

    private struct Failure: Decodable {
        let error: String
    }

    /// Reads a reply.
    ///
    /// - Throws: `PluginError` with the status and the server's error code, but without a token.
    init(_ reply: HTTPReply) throws(PluginError) {
        let body = Data(reply.body.prefix(Self.sizeLimit))
        guard reply.status == 200 else {
            let code = (try? JSONDecoder().decode(Failure.self, from: body))?.error ?? ""
            let isCode =
                (1...64).contains(code.utf8.count)
                && code.utf8.allSatisfy {
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "_")
                }
            throw PluginError(
                "the token server responded \(reply.status)\(isCode ? ": \(code)" : "")",
                code: "token-refused")
        }
        guard let success = try? JSONDecoder().decode(Success.self, from: body),
            success.token_type.lowercased() == "bearer",
            (1...Self.tokenLimit).contains(success.access_token.utf8.count),
            success.access_token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw PluginError(
                "the token server's response has no bearer token", code: "token-unreadable")
        }
        token = success.access_token
        lifetime = success.expires_in.map { .seconds(min(max($0, 0), 1e9)) }
        refreshToken = success.refresh_token.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension String {
    /// The text encoded as a form value (RFC 6749 appendix B).
    fileprivate var formEncoded: String {
        utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " "): text += "+"
            default: text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
