import FoundationEssentials
import Outlet

/// The five header fields of every measured request.
let requestFields: HTTPHeaders = [
    "Accept": "application/json",
    "Accept-Language": "en;q=1.0",
    "User-Agent": "OutletBench/1.0",
    "Authorization": "Bearer 0123456789abcdef0123456789abcdef",
    "X-Request-ID": "6f1c2e34-9a4b-4c56-8f77-0123456789ab",
]

/// The same fields, with the cookie that the benchmark server sets.
let cookieFields: HTTPHeaders = {
    var fields = requestFields
    fields.add(name: "Cookie", value: "session=0123456789abcdef")
    return fields
}()

/// Requests with a single response.
extension Unit {
    /// A transfer without a session.
    static func transport(
        _ setting: Setting, _ configuration: SessionConfiguration = .bare,
        delivery: BodyDelivery = .collect
    ) -> Unit {
        let transport = CurlTransport(configuration: configuration.transport)
        var job = TransferJob(
            request: HTTPRequest(url: URL(string: setting.url), headers: requestFields))
        job.delivery = delivery
        let started = job
        return .ending { done in _ = transport.start(started, handler: Ending(done)) }
    }

    private final class Ending: TransferHandler {
        private let done: @Sendable (Bool) -> Void

        init(_ done: @escaping @Sendable (Bool) -> Void) { self.done = done }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            let isFine = result.error == nil && result.response?.statusCode == 200
            done(isFine)
            // Releases the body only after `done`: to free a gigabyte takes time, which is not part
            // of the request.
            withExtendedLifetime(result) {}
        }
    }

    /// A request with a completion handler.
    static func request(
        of session: Session, fields: HTTPHeaders = requestFields, _ setting: Setting
    ) -> Unit {
        .ending { done in
            session.request(setting.url, headers: fields).responseData { response in
                done(response.error == nil)
            }
        }
    }

    /// A request whose value is awaited.
    static func value(
        of session: Session, on executor: (any TaskExecutor)?, _ setting: Setting
    ) -> Unit {
        .awaited(on: executor) {
            let request = session.request(setting.url, headers: requestFields)
            return (try? await request.serializingData().value) != nil
        }
    }

    /// The JSON that the benchmark server returns.
    private struct Items: Decodable, Sendable {
        struct Item: Decodable, Sendable {
            let id: Int
            let name: String
            let tags: [String]
            let price: Double
        }
        let items: [Item]
    }

    /// A request whose response is decoded.
    static func decodable(of session: Session, _ setting: Setting) -> Unit {
        .ending { done in
            session.request(setting.url, headers: requestFields).responseDecodable(
                of: Items.self
            ) { response in
                done(response.value?.items.isEmpty == false)
            }
        }
    }

    /// An upload from memory; the row's argument is its size in bytes.
    static func post(of session: Session, _ setting: Setting) -> Unit {
        let body = Data(count: setting.number)
        return .ending { done in
            session.upload(body, to: setting.url, headers: requestFields).responseData {
                done($0.error == nil)
            }
        }
    }

    /// An upload from memory whose response is awaited.
    static func postValue(of session: Session, _ setting: Setting) -> Unit {
        let body = Data(count: setting.number)
        return .awaited(on: nil) {
            let request = session.upload(body, to: setting.url, headers: requestFields)
            return (try? await request.serializingData().value) != nil
        }
    }

    /// An upload of a file; the row's argument is its path.
    static func putFile(of session: Session, _ setting: Setting) -> Unit {
        let file = URL(filePath: setting.argument)
        return .ending { done in
            session.upload(file, to: setting.url, method: .put, headers: requestFields)
                .responseData { done($0.error == nil) }
        }
    }

    /// A request of a provider.
    ///
    /// - Throws: `URLError.notAnAddress` if the row's URL is invalid.
    static func target(of provider: Provider<MeasuredTarget>, _ setting: Setting) throws -> Unit {
        guard let address = URL(string: setting.url) else { throw URLError.notAnAddress }
        let target = MeasuredTarget(
            baseURL: address.deletingLastPathComponent(), path: address.lastPathComponent)
        return .ending { done in
            provider.request(target) { done((try? $0.get())?.statusCode == 200) }
        }
    }

    private enum URLError: Error { case notAnAddress }

    /// Calls of the exported function of `Plugin/measured.c`, one after the other.
    static func calls(_ count: Int, of host: PluginHost) -> Unit {
        .ending { done in
            let plugin = host.plugins.first
            var isRight = true
            for _ in 0..<count {
                let sum = try? plugin?.call("add", .int(20), .int(22))
                isRight = isRight && sum == .int(42)
            }
            done(isRight)
        }
    }
}

/// The target of the measured provider.
struct MeasuredTarget: TargetType {
    let baseURL: URL
    let path: String
    var method: HTTPMethod { .get }
    var task: HTTPTask { .requestPlain }
    let headers: [String: String]? = requestFields.dictionary
}

/// A provider plugin that implements no hook.
struct IdlePlugin: PluginType {}
