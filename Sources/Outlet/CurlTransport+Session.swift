public import OutletCurl
public import OutletSession

extension CurlTransport {
    /// Makes the transport of sessions with these settings.
    ///
    /// - Parameter configuration: Its ``SessionConfiguration/transport`` counts.
    @_disfavoredOverload
    public convenience init(configuration: SessionConfiguration) {
        self.init(configuration: configuration.transport)
    }
}
