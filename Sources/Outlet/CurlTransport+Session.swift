public import OutletCurl
public import OutletSession

extension CurlTransport {
    /// Makes a transport for sessions with these settings.
    ///
    /// - Parameter configuration: The session settings; only their
    ///   `SessionConfiguration.transport` is used.
    @_disfavoredOverload
    public convenience init(configuration: SessionConfiguration) {
        self.init(configuration: configuration.transport)
    }
}
