# Compares the dynamic symbols that LIBRARY defines with the functions that HEADER declares.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
                OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${listing}")
set(exported "")
foreach(line IN LISTS lines)
  # "address type name" or, for absolute symbols of old tools, "type name"
  string(REGEX REPLACE "^.* ([^ ]+)$" "\\1" name "${line}")
  list(APPEND exported "${name}")
endforeach()

file(READ ${HEADER} text)
string(REGEX MATCHALL "DGRAD_API [^;(]*[ *](dgrad_[a-z0-9_]+)\\(" heads "${text}")
set(declared "")
foreach(head IN LISTS heads)
  string(REGEX REPLACE "^.*[ *](dgrad_[a-z0-9_]+)\\($" "\\1" name "${head}")
  list(APPEND declared "${name}")
endforeach()
list(LENGTH declared count)
if(count LESS 20)
  message(FATAL_ERROR "only ${count} functions found in ${HEADER}: this script misreads it")
endif()

set(missing ${declared})
list(REMOVE_ITEM missing ${exported})
set(extra ${exported})
list(REMOVE_ITEM extra ${declared})
if(missing OR extra)
  message(FATAL_ERROR "declared but not exported: [${missing}]\n"
                      "exported but not declared: [${extra}]")
endif()
message("${count} functions")
