// Read by the thread sanitizer's runtime; without it nobody calls this.

extern "C" const char* __tsan_default_suppressions();  // NOLINT

extern "C" const char* __tsan_default_suppressions() {  // NOLINT
  // gRPC answers unknown methods and health checks with its callback machinery,
  // whose threads synchronise inside the library. All our handlers are of the
  // other kind, so this hides nothing of ours.
  return "race:grpc::internal::CallbackBidiHandler\n"
         "race:grpc::internal::CallbackUnaryHandler\n"
         "race:grpc::internal::CallbackWithSuccessTag\n"
         "race:grpc::GenericCallbackServerContext\n"
         "race:grpc::internal::InterceptorBatchMethodsImpl\n";
}
