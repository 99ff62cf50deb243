import CCurl

/// A proxy that is talked to over TLS.
struct SecureProxy: Sendable {
    /// The host that its certificate has to be for.
    let host: String
    /// The port, libcurl's choice where none is written.
    let port: Int

    /// `nil` for any other proxy, and for what is none.
    init?(_ proxy: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            let flags = UInt32(CURLU_DEFAULT_PORT)
            guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else {
                return nil
            }
            defer { curl_free(text) }
            return String(cString: text)
        }
        guard curl_url_set(handle, CURLUPART_URL, proxy, 0) == CURLUE_OK,
            part(CURLUPART_SCHEME) == "https", let host = part(CURLUPART_HOST),
            let port = part(CURLUPART_PORT).flatMap({ Int($0) })
        else { return nil }
        self.host = host
        self.port = port
    }
}
