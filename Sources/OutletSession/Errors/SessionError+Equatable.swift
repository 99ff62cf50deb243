import OutletHTTP

/// Errors are equal if they have the same case with equal values.
///
/// Inner errors are compared with `==` if both have the same `Equatable` type. An instance of a
/// class that is not `Equatable` equals only itself; other values are never equal.
extension SessionError: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: SessionError, b: SessionError) -> Bool {
        switch (a, b) {
        case (.explicitlyCancelled, .explicitlyCancelled),
            (.sessionDeinitialized, .sessionDeinitialized):
            true
        case (.createUploadableFailed(let a), .createUploadableFailed(let b)),
            (.createURLRequestFailed(let a), .createURLRequestFailed(let b)),
            (.requestAdaptationFailed(let a), .requestAdaptationFailed(let b)),
            (.sessionTaskFailed(let a), .sessionTaskFailed(let b)):
            isEqual(a, b)
        case (
            .downloadedFileMoveFailed(let a, let aSource, let aDestination),
            .downloadedFileMoveFailed(let b, let bSource, let bDestination)
        ):
            isEqual(a, b) && aSource == bSource && aDestination == bDestination
        case (.invalidURL(let a), .invalidURL(let b)): isEqual(a, b)
        case (.multipartEncodingFailed(let a), .multipartEncodingFailed(let b)): a == b
        case (.parameterEncodingFailed(let a), .parameterEncodingFailed(let b)): a == b
        case (.parameterEncoderFailed(let a), .parameterEncoderFailed(let b)): a == b
        case (
            .requestRetryFailed(let aRetry, let aOriginal),
            .requestRetryFailed(let bRetry, let bOriginal)
        ):
            isEqual(aRetry, bRetry) && isEqual(aOriginal, bOriginal)
        case (.responseValidationFailed(let a), .responseValidationFailed(let b)): a == b
        case (.responseSerializationFailed(let a), .responseSerializationFailed(let b)): a == b
        case (.serverTrustEvaluationFailed(let a), .serverTrustEvaluationFailed(let b)): a == b
        case (.sessionInvalidated(let a), .sessionInvalidated(let b)): isEqual(a, b)
        case (.urlRequestValidationFailed(let a), .urlRequestValidationFailed(let b)): a == b
        default: false
        }
    }
}

extension SessionError.MultipartEncodingFailureReason: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.boundaryInvalid(let a), .boundaryInvalid(let b)): a == b
        case (.bodyPartHeaderInvalid(let a), .bodyPartHeaderInvalid(let b)): a == b
        case (.bodyPartURLInvalid(let a), .bodyPartURLInvalid(let b)),
            (.bodyPartFilenameInvalid(let a), .bodyPartFilenameInvalid(let b)),
            (.bodyPartFileNotReachable(let a), .bodyPartFileNotReachable(let b)),
            (.bodyPartFileIsDirectory(let a), .bodyPartFileIsDirectory(let b)),
            (.bodyPartFileSizeNotAvailable(let a), .bodyPartFileSizeNotAvailable(let b)),
            (.bodyPartInputStreamCreationFailed(let a), .bodyPartInputStreamCreationFailed(let b)),
            (.outputStreamCreationFailed(let a), .outputStreamCreationFailed(let b)),
            (.outputStreamFileAlreadyExists(let a), .outputStreamFileAlreadyExists(let b)),
            (.outputStreamURLInvalid(let a), .outputStreamURLInvalid(let b)):
            a == b
        case (
            .bodyPartFileNotReachableWithError(let aURL, let a),
            .bodyPartFileNotReachableWithError(let bURL, let b)
        ),
            (
                .bodyPartFileSizeQueryFailedWithError(let aURL, let a),
                .bodyPartFileSizeQueryFailedWithError(let bURL, let b)
            ):
            aURL == bURL && isEqual(a, b)
        case (.outputStreamWriteFailed(let a), .outputStreamWriteFailed(let b)),
            (.inputStreamReadFailed(let a), .inputStreamReadFailed(let b)):
            isEqual(a, b)
        default: false
        }
    }
}

extension SessionError.ParameterEncodingFailureReason: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.missingURL, .missingURL): true
        case (.jsonEncodingFailed(let a), .jsonEncodingFailed(let b)),
            (.customEncodingFailed(let a), .customEncodingFailed(let b)):
            isEqual(a, b)
        default: false
        }
    }
}

extension SessionError.ParameterEncoderFailureReason: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.missingRequiredComponent(let a), .missingRequiredComponent(let b)): a == b
        case (.encoderFailed(let a), .encoderFailed(let b)): isEqual(a, b)
        default: false
        }
    }
}

extension SessionError.ResponseValidationFailureReason: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.dataFileNil, .dataFileNil): true
        case (.dataFileReadFailed(let a), .dataFileReadFailed(let b)): a == b
        case (.missingContentType(let a), .missingContentType(let b)): a == b
        case (
            .unacceptableContentType(let a, let aType), .unacceptableContentType(let b, let bType)
        ):
            a == b && aType == bType
        case (.unacceptableStatusCode(let a), .unacceptableStatusCode(let b)): a == b
        case (.customValidationFailed(let a), .customValidationFailed(let b)): isEqual(a, b)
        default: false
        }
    }
}

extension SessionError.ResponseSerializationFailureReason: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.inputDataNilOrZeroLength, .inputDataNilOrZeroLength),
            (.inputFileNil, .inputFileNil):
            true
        case (.inputFileReadFailed(let a), .inputFileReadFailed(let b)): a == b
        case (.stringSerializationFailed(let a), .stringSerializationFailed(let b)): a == b
        case (.jsonSerializationFailed(let a), .jsonSerializationFailed(let b)),
            (.decodingFailed(let a), .decodingFailed(let b)),
            (.customSerializationFailed(let a), .customSerializationFailed(let b)):
            isEqual(a, b)
        case (.invalidEmptyResponse(let a), .invalidEmptyResponse(let b)): a == b
        default: false
        }
    }
}

extension SessionError.ServerTrustFailureReason: Equatable {
    /// Whether both have the same case with equal values.
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.noCertificatesFound, .noCertificatesFound),
            (.noPublicKeysFound, .noPublicKeysFound),
            (.revocationPolicyCreationFailed, .revocationPolicyCreationFailed):
            true
        case (.noRequiredEvaluator(let a), .noRequiredEvaluator(let b)): a == b
        case (
            .policyApplicationFailed(let a, let aFault), .policyApplicationFailed(let b, let bFault)
        ):
            a == b && aFault == bFault
        case (
            .settingAnchorCertificatesFailed(let aFault, let a),
            .settingAnchorCertificatesFailed(let bFault, let b)
        ):
            a == b && aFault == bFault
        case (.trustEvaluationFailed(let a), .trustEvaluationFailed(let b)): isEqual(a, b)
        case (.customEvaluationFailed(let a), .customEvaluationFailed(let b)): isEqual(a, b)
        case (.defaultEvaluationFailed(let a), .defaultEvaluationFailed(let b)),
            (.hostValidationFailed(let a), .hostValidationFailed(let b)):
            a == b
        case (
            .revocationCheckFailed(let a, let aOptions), .revocationCheckFailed(let b, let bOptions)
        ):
            a == b && aOptions == bOptions
        case (
            .certificatePinningFailed(let aHost, let aTrust, let aPinned, let aShown),
            .certificatePinningFailed(let bHost, let bTrust, let bPinned, let bShown)
        ):
            aHost == bHost && aTrust == bTrust && aPinned == bPinned && aShown == bShown
        case (
            .publicKeyPinningFailed(let aHost, let aTrust, let aPinned, let aShown),
            .publicKeyPinningFailed(let bHost, let bTrust, let bPinned, let bShown)
        ):
            aHost == bHost && aTrust == bTrust && aPinned == bPinned && aShown == bShown
        default: false
        }
    }
}

/// Returns whether both are `nil`, equal by `==`, or the same object.
private func isEqual(_ a: Any?, _ b: Any?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    if let a = a as? any Equatable { return a.equals(b) }
    // Not a plain cast: `as AnyObject` would box a value in a new object each time.
    guard type(of: a) is AnyClass, type(of: b) is AnyClass else { return false }
    return a as AnyObject === b as AnyObject
}

extension Equatable {
    fileprivate func equals(_ other: Any) -> Bool { other as? Self == self }
}
