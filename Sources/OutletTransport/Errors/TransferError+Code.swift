extension TransferError {
    /// What went wrong, named like the codes of Foundation's `URLError`.
    ///
    /// All codes of `URLError` are here, so that retry policies written for them can be used
    /// unchanged. This library never reports ``dnsLookupFailed`` and the codes after
    /// ``transportClosed`` except ``userAuthenticationRequired``; a custom transport may.
    public enum Code: String, Sendable, CaseIterable {
        /// No other code applies; see ``TransferError/reason``.
        case unknown
        /// The transfer was cancelled.
        case cancelled
        /// A time limit has passed, or the transfer was slower than
        /// ``TransportConfiguration/minimumThroughput``.
        case timedOut
        /// The URL is invalid, or has no host.
        case badURL
        /// The URL's scheme is not supported.
        case unsupportedURL
        /// The host name cannot be resolved.
        case cannotFindHost
        /// The host does not accept the connection.
        case cannotConnectToHost
        /// The connection was lost, or closed before the response was complete.
        case networkConnectionLost
        /// The name server failed.
        case dnsLookupFailed
        /// A stub or a recording that replaces the network has no response for the request.
        case resourceUnavailable
        /// The network cannot be reached.
        case notConnectedToInternet
        /// There were more redirects than allowed.
        case httpTooManyRedirects
        /// The redirect's location cannot be followed.
        case redirectToNonExistentLocation
        /// The response is not valid HTTP.
        case badServerResponse
        /// The body does not match its `Content-Encoding`.
        case cannotDecodeContentData
        /// The body, or a WebSocket message, is larger than allowed.
        case dataLengthExceedsMaximum
        /// The decoded body is larger than allowed: a decompression bomb.
        case decompressionLimitExceeded
        /// The response's head has more or larger fields than allowed.
        case headerFieldsExceedMaximum
        /// The TLS handshake failed, or the certificate authorities cannot be read.
        case secureConnectionFailed
        /// The server's certificate has expired.
        case serverCertificateHasBadDate
        /// The server's certificate is not valid yet.
        case serverCertificateNotYetValid
        /// The server's certificate is not signed by a trusted authority, is for another host, or
        /// was refused by an evaluator.
        case serverCertificateUntrusted
        /// The client's certificate cannot be used, or the server has refused it.
        case clientCertificateRejected
        /// The server requires a client certificate, and none was sent.
        case clientCertificateRequired
        /// The proxy refused the connection, or is no proxy of the expected type.
        case proxyConnectionFailed
        /// The file of a `file:` URL does not exist.
        case fileDoesNotExist
        /// The file of a `file:` URL is a directory.
        case fileIsDirectory
        /// The process has no permission to read the file of a `file:` URL.
        case noPermissionsToReadFile
        /// The file for the response's body cannot be created.
        case cannotCreateFile
        /// The file for the response's body cannot be written; the disk may be full.
        case cannotWriteToFile
        /// The file or stream with the request's body cannot be read, or the file has changed while it
        /// was sent.
        case cannotOpenFile
        /// The request's body stream cannot be rewound to be sent again.
        case requestBodyStreamExhausted
        /// The process has no more file descriptors.
        case tooManyOpenFiles
        /// ``TransportConfiguration/maximumQueuedRequests`` requests wait for a connection already.
        case requestQueueFull
        /// An ``AddressPolicy`` does not allow the host's IP address.
        case addressNotAllowed
        /// A layer between the session and the network has refused the request; see
        /// ``TransferError/cause``.
        case refused
        /// The request cannot be sent, because its method, a header or its body is invalid.
        case badRequest
        /// A setting of the transport has an invalid value.
        case badConfiguration
        /// The transport was shut down.
        case transportClosed

        // MARK: Codes of URLError that this library does not report, with one exception

        /// The response cannot be parsed.
        case cannotParseResponse
        /// The raw bytes of the body cannot be decoded.
        case cannotDecodeRawData
        /// The body is empty although it must not be.
        case zeroByteResource
        /// There is no Kerberos ticket for the server or the proxy.
        case userAuthenticationRequired
        /// The user has cancelled the authentication.
        case userCancelledAuthentication
        /// The root of the server's certificate is not known.
        case serverCertificateHasUnknownRoot
        /// Only the cache may be used, and it has no response.
        case cannotLoadFromNetwork
        /// Roaming is turned off.
        case internationalRoamingOff
        /// A phone call prevents the use of the network.
        case callIsActive
        /// The network does not allow data.
        case dataNotAllowed
        /// A file cannot be closed.
        case cannotCloseFile
        /// A file cannot be removed.
        case cannotRemoveFile
        /// A file cannot be moved.
        case cannotMoveFile
        /// Decoding a download failed before its end.
        case downloadDecodingFailedMidStream
        /// Decoding a download failed at its end.
        case downloadDecodingFailedToComplete
        /// App Transport Security requires TLS.
        case appTransportSecurityRequiresSecureConnection
        /// A background session has no shared container.
        case backgroundSessionRequiresSharedContainer
        /// A background session is used by another process.
        case backgroundSessionInUseByAnotherProcess
        /// A background session was disconnected from its process.
        case backgroundSessionWasDisconnected
    }
}
