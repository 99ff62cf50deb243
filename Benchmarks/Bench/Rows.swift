import FoundationEssentials
import Glibc
import Outlet

/// The arguments of the command line for a row.
struct Setting: Sendable {
    let url: String
    let argument: String

    /// The argument as a number; 0 if it is none.
    let number: Int

    init(url: String, argument: String) {
        self.url = url
        self.argument = argument
        number = Int(argument) ?? 0
    }
}

/// A kind of measurement.
struct Row: Sendable {
    /// Whether a tenth of the units runs before the measurement starts.
    var warmsUp = true
    let make: @Sendable (Setting) throws -> Unit
}

/// All measurements by name.
let rows: [String: Row] = [
    // Each adds one layer to the one before, with minimal settings.
    "transport": Row { .transport($0) },
    "session-callback-inline": Row { .request(of: .bare(delivery: .inline), $0) },
    "session-callback-queue": Row { .request(of: .bare(), $0) },
    "session-async": Row { .value(of: .bare(), on: nil, $0) },
    "session-executor": Row {
        let session = Session.bare()
        return .value(of: session, on: session.taskExecutor, $0)
    },
    // With default settings.
    "session-defaults": Row { .request(of: Session(), $0) },
    "provider": Row { try .target(of: Provider(), $0) },
    "provider-plugin": Row { try .target(of: Provider(plugins: [IdlePlugin()]), $0) },
    // With a native plugin; the argument is the path of its library.
    "session-native": Row { try .request(of: Session(plugins: PluginHost.one($0)), $0) },
    // The same with the plugins of a directory.
    "session-natives": Row { try .request(of: Session(plugins: PluginHost.all($0)), $0) },
    "provider-native": Row {
        try .target(of: Provider(session: Session(plugins: PluginHost.one($0))), $0)
    },
    "plugin-1-call": Row { .calls(1, of: try PluginHost.one($0)) },
    "plugin-101-calls": Row { .calls(101, of: try PluginHost.one($0)) },
    "decodable": Row { .decodable(of: Session(), $0) },
    "cookie": Row { .request(of: Session(), $0) },
    // Stored already, and sent; what responses set is ignored.
    "cookie-sent": Row { .request(of: .sendingCookie, $0) },
    // Without a storage: the requests have the field Cookie from the start.
    "session-cookie": Row { .request(of: .withoutCookies, fields: cookieFields, $0) },
    "hsts": Row { .request(of: .withHSTSHost, $0) },
    "stored": Row { .request(of: .caching, $0) },
    "gzip": Row { .request(of: Session(), $0) },
    // Uploads.
    "post": Row { .post(of: Session(), $0) },
    "post-async": Row { .postValue(of: Session(), $0) },
    "put-file": Row(warmsUp: false) { .putFile(of: Session(), $0) },
    // TLS; the argument is the path of the CA certificate, or of a directory for `tls-fresh`.
    "tls-inline": Row { .request(of: .trusting($0, delivery: .inline), $0) },
    "tls-queue": Row { .request(of: .trusting($0), $0) },
    "tls-async": Row { .value(of: .trusting($0), on: nil, $0) },
    "tls-burst": Row(warmsUp: false) { .request(of: .trusting($0), $0) },
    "tls-fresh": Row { setting in
        var configuration = SessionConfiguration.bare
        configuration.certificateAuthorities = .directory(path: setting.argument)
        return .transport(setting, configuration)
    },
    // Streams of events or messages; the argument is their number.
    "events": Row { .events(of: .bare(delivery: .inline), $0) },
    "events-awaited": Row { .awaitedEvents(of: Session(), $0) },
    "socket-receive": Row { .socketReceive(of: .bare(delivery: .inline), $0) },
    "socket-awaited": Row { .socketAwaited(of: Session(), $0) },
    "socket-send": Row { .socketSend(of: .bare(delivery: .inline), $0) },
    "socket-echo": Row { .socketEcho(of: .bare(delivery: .inline), $0) },
    // Many concurrent requests, and large downloads.
    "inflight": Row(warmsUp: false) { .transport($0) },
    "download-file": Row(warmsUp: false) {
        .transport($0, delivery: .file(path: $0.argument, offset: 0))
    },
    "download-memory": Row(warmsUp: false) { setting in
        var configuration = SessionConfiguration.bare
        configuration.maximumResponseSize = .max
        return .transport(setting, configuration)
    },
]

extension SessionConfiguration {
    /// No proxy, no default header fields, no effective limit of connections.
    static var bare: Self {
        var configuration = SessionConfiguration.default
        configuration.proxy = .none
        configuration.headers = HTTPHeaders()
        configuration.timeoutIntervalForResource = 600
        configuration.httpMaximumConnectionsPerHost = 100_000
        configuration.maximumConnections = 100_000
        return configuration
    }
}

extension PluginHost {
    /// Loads the plugins of the directory whose path is the row's argument.
    static func all(_ setting: Setting) throws -> PluginHost {
        let host = try PluginHost.load(directories: [setting.argument])
        for failure in host.failures { throw failure }
        return host
    }

    /// Loads the plugin whose path is the row's argument.
    ///
    /// - Throws: An error if the plugin cannot be loaded.
    static func one(_ setting: Setting) throws -> PluginHost {
        let host = try PluginHost.load([.file(setting.argument)])
        for failure in host.failures { throw failure }
        return host
    }
}

extension Session {
    static func bare(delivery: Session.CallbackDelivery = .queued) -> Session {
        Session(configuration: .bare, delivery: delivery)
    }

    static func trusting(
        _ setting: Setting, delivery: Session.CallbackDelivery = .queued
    ) -> Session {
        var configuration = SessionConfiguration.default
        configuration.certificateAuthorities = .file(path: setting.argument)
        return Session(configuration: configuration, delivery: delivery)
    }

    /// With the cookie that the benchmark server sets, and takes no others.
    static var sendingCookie: Session {
        let storage = CookieStorage()
        storage.setCookie(
            Cookie(
                name: "session", value: "0123456789abcdef", domain: "127.0.0.1", isHTTPOnly: true))
        var configuration = SessionConfiguration.default
        configuration.httpCookieStorage = storage
        configuration.httpCookieAcceptPolicy = .never
        return Session(configuration: configuration)
    }

    static var withoutCookies: Session {
        var configuration = SessionConfiguration.default
        configuration.httpCookieStorage = nil
        return Session(configuration: configuration)
    }

    /// With an HSTS host, to which none of the requests goes.
    static var withHSTSHost: Session {
        let storage = HSTSStorage.memory
        storage.setPolicy(
            HSTSStorage.Policy(host: "hsts.test", expiresDate: .distantFuture))
        var configuration = SessionConfiguration.default
        configuration.hsts = storage
        return Session(configuration: configuration)
    }

    static var caching: Session {
        var configuration = SessionConfiguration.default
        configuration.urlCache = ResponseCache()
        return Session(configuration: configuration)
    }
}
