extension TransferError {
    /// What went wrong, spelt as in URL loading elsewhere.
    ///
    /// All codes known there are here, so that policies written for it keep their meaning; the last
    /// ones nothing in this library reports, but a transport of one's own may.
    public enum Code: String, Sendable, CaseIterable {
        /// Something that has no code of its own; see ``TransferError/reason``.
        case unknown
        /// The transfer was cancelled.
        case cancelled
        /// No progress, or no end, within the time allowed.
        case timedOut
        /// The address is not a URL, or has no host.
        case badURL
        /// The scheme is neither http nor https.
        case unsupportedURL
        /// The name of the host does not resolve.
        case cannotFindHost
        /// The host does not accept the connection.
        case cannotConnectToHost
        /// The connection broke, or closed before the response was whole.
        case networkConnectionLost
        /// The name service failed.
        case dnsLookupFailed
        /// What would answer without a network (a stub, a recording) has no answer.
        case resourceUnavailable
        /// No network is up.
        case notConnectedToInternet
        /// One redirect led to another, more often than allowed.
        case httpTooManyRedirects
        /// A redirect leads to an address that cannot be followed.
        case redirectToNonExistentLocation
        /// The answer is not HTTP, or breaks its rules.
        case badServerResponse
        /// The body's encoding is broken.
        case cannotDecodeContentData
        /// The body is larger than allowed.
        case dataLengthExceedsMaximum
        /// The body decodes to more than allowed: a decompression bomb.
        case decompressionLimitExceeded
        /// The head of the answer has more or larger fields than allowed.
        case headerFieldsExceedMaximum
        /// TLS could not be agreed on.
        case secureConnectionFailed
        /// The certificate's dates have passed.
        case serverCertificateHasBadDate
        /// The certificate's dates are yet to come.
        case serverCertificateNotYetValid
        /// The certificate does not lead to a trusted authority, or is for another host.
        case serverCertificateUntrusted
        /// The server refused the client's certificate.
        case clientCertificateRejected
        /// The server wants a certificate of the client's, and got none.
        case clientCertificateRequired
        /// The proxy refused, or speaks something else.
        case proxyConnectionFailed
        /// The file that a `file:` address names is not there.
        case fileDoesNotExist
        /// The file that a `file:` address names is a directory.
        case fileIsDirectory
        /// The file that a `file:` address names may not be read.
        case noPermissionsToReadFile
        /// The file for the body cannot be made.
        case cannotCreateFile
        /// The file for the body cannot be written; the disk may be full.
        case cannotWriteToFile
        /// The file with the body cannot be read.
        case cannotOpenFile
        /// The request's body stream cannot go back to its start.
        case requestBodyStreamExhausted
        /// The process has no more file descriptors.
        case tooManyOpenFiles
        /// Too many requests wait for a connection already.
        case requestQueueFull
        /// The host's address is one that the session's address policy refuses.
        case addressNotAllowed
        /// A layer between the session and the network does not let the request pass.
        case refused
        /// The request cannot go on the wire (method, header, body).
        case badRequest
        /// A setting of the transport has a value that it cannot have.
        case badConfiguration
        /// The transport was shut down.
        case transportClosed

        // MARK: Codes that nothing here reports

        /// The answer cannot be read.
        case cannotParseResponse
        /// The body's raw bytes cannot be decoded.
        case cannotDecodeRawData
        /// The body is empty, and must not be.
        case zeroByteResource
        /// Somebody would have to log in.
        case userAuthenticationRequired
        /// Somebody was asked to log in, and did not.
        case userCancelledAuthentication
        /// The certificate's root is not known.
        case serverCertificateHasUnknownRoot
        /// Only the cache may be used, and it has nothing.
        case cannotLoadFromNetwork
        /// Roaming is off.
        case internationalRoamingOff
        /// A call is active, and the network carries one thing at a time.
        case callIsActive
        /// The network does not carry data.
        case dataNotAllowed
        /// A file cannot be closed.
        case cannotCloseFile
        /// A file cannot be removed.
        case cannotRemoveFile
        /// A file cannot be moved.
        case cannotMoveFile
        /// Decoding a download broke off in the middle.
        case downloadDecodingFailedMidStream
        /// Decoding a download failed at its end.
        case downloadDecodingFailedToComplete
        /// A policy of the system asks for TLS.
        case appTransportSecurityRequiresSecureConnection
        /// A background session has no container to share.
        case backgroundSessionRequiresSharedContainer
        /// A background session is another process's.
        case backgroundSessionInUseByAnotherProcess
        /// A background session lost its process.
        case backgroundSessionWasDisconnected
    }
}
