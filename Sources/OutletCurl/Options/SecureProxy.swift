import CCurl

/// A proxy that is connected to over TLS (`https://`).
struct SecureProxy: Sendable {
    /// The host that the proxy's certificate has to be valid for.
    let host: String
    /// The port; libcurl's default for `https` if the URL has none.
    let port: Int

    /// Parses a proxy's URL; `nil` if its scheme is not `https` or libcurl cannot parse it.
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
