import OutletCurl
import OutletSession

/// Makes the sessions of all commands.
enum SessionFactory {
    static func session(
        _ configuration: SessionConfiguration, redirects: Redirector
    ) -> Session {
        Session(
            transport: CurlTransport(configuration: configuration), configuration: configuration,
            redirectHandler: redirects)
    }
}
