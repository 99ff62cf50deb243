import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTesting

/// The requests of the tests; the fixtures read their `X-` fields.
enum Fixture: TargetType {
    case page
    case answered(String)
    case mode(String)

    var baseURL: URL { URL(string: "http://test.example") ?? URL(filePath: "/") }
    var path: String { "page" }
    var method: HTTPMethod { .get }
    var task: HTTPTask { .requestPlain }
    var validationType: ValidationType { .successCodes }
    var headers: [String: String]? {
        switch self {
        case .page: nil
        case .answered(let body): ["X-Answer": body]
        case .mode(let mode): ["X-Mode": mode, "X-Remove": "me"]
        }
    }
    var attributes: [String: String] { ["tier": "gold"] }
}

extension PluginHost {
    /// Makes a provider whose session uses the stub and this host's plugins.
    func provider(
        over stub: StubTransport, eventMonitors: [any EventMonitor] = []
    ) -> Provider<Fixture> {
        Provider<Fixture>(
            session: Session(
                transport: stub, plugins: self, eventMonitors: eventMonitors))
    }
}

/// Returns the plugin's error inside the error that `body` throws; `nil` if there is none.
func pluginError(_ body: () async throws -> Response) async -> PluginError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return pluginError(in: error)
    }
}

private func pluginError(in error: any Error) -> PluginError? {
    if let error = error as? PluginError { return error }
    if let error = (error as? ProviderError)?.underlyingError { return pluginError(in: error) }
    if let error = (error as? SessionError)?.underlyingError { return pluginError(in: error) }
    return nil
}
